import { afterAll, beforeAll, expect, test } from 'vitest';
import { seededRandom } from '../chaos/seeded-random.ts';
import { useDatabase } from '../database.ts';
import { type EmbeddingServer, startEmbeddingServer } from '../embedding-server.ts';
import { describeCrashes, everyKth, listMissed, runCrashes } from './crash-run.ts';
import { useFailpointServers } from './failpoint-server.ts';
import { cancelPath } from './knowledge-cancel-path.ts';
import { knowledgeEnv } from './knowledge-path.ts';

// `npm run chaos` dies at every point; here at every k-th one, and a printed seed repeats which.
const isFull = process.env.SLUICE_CHAOS === 'full';
const seed = Number(process.env.SLUICE_CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 31));
const timeout = isFull ? 40 * 60_000 : 5 * 60_000;
const atLeast = 10;
let started: EmbeddingServer | undefined;
beforeAll(async () => {
  started = await startEmbeddingServer();
});
afterAll(() => started?.close());
// In a file of its own: a process that was left by another test would do the cleanup unseen.
const database = useDatabase();
const servers = useFailpointServers(database, knowledgeEnv);

function embedder(): EmbeddingServer {
  if (!started) throw new Error('The embedding server is there only once beforeAll has run');
  return started;
}

function choose(points: string[]): string[] {
  return everyKth(points, { atLeast, offset: seededRandom(seed).next() });
}

test('wherever in the cleanup of a canceled run the process dies, nothing of it is left and all else is as before', {
  timeout,
}, async () => {
  console.log(`seed ${seed} (SLUICE_CHAOS_SEED=${seed} repeats its choices)`);
  const path = cancelPath(database, servers, embedder);
  const findings = await runCrashes({ database, servers, path, choose: isFull ? null : choose });
  console.log(describeCrashes('cancel', findings));
  expect(findings.breaches).toEqual([]);
  if (isFull) expect(listMissed(findings)).toEqual([]);
  expect(findings.deaths.length).toBeGreaterThanOrEqual(Math.min(atLeast, findings.points.length));
  for (const seam of [
    'after message: commit',
    'delete from knowledge_links',
    'delete from embeddings_index',
  ]) {
    expect(findings.points.join('\n')).toContain(seam);
  }
});
