import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddingServer, startEmbeddingServer } from '../support/fakes/embedding-server.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { chooseCrashes, crashTimeout, isFull } from './crash-choice.ts';
import { describeCrashes, listMissed, runCrashes } from './crash-run.ts';
import { useFailpointServers } from './failpoint-server.ts';
import { cancelPath } from './knowledge-cancel-path.ts';
import { knowledgeEnv } from './knowledge-path.ts';

const atLeast = 3;
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

test('wherever in the cleanup of a canceled run the process dies, nothing of it is left and all else is as before', {
  timeout: crashTimeout,
}, async () => {
  const path = cancelPath(database, servers, embedder);
  const choose = chooseCrashes(atLeast);
  const findings = await runCrashes({ database, servers, path, choose, enough: atLeast });
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
