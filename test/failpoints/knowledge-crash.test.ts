import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddingServer, startEmbeddingServer } from '../support/fakes/embedding-server.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { chooseCrashes, crashTimeout, isFull } from './crash-choice.ts';
import { describeCrashes, listMissed, runCrashes } from './crash-run.ts';
import { useFailpointServers } from './failpoint-server.ts';
import { knowledgeEnv, knowledgePath } from './knowledge-path.ts';

const atLeast = 3;
let started: EmbeddingServer | undefined;
beforeAll(async () => {
  started = await startEmbeddingServer();
});
afterAll(() => started?.close());
const database = useDatabase();
const servers = useFailpointServers(database, knowledgeEnv);

function embedder(): EmbeddingServer {
  if (!started) throw new Error('The embedding server is there only once beforeAll has run');
  return started;
}

test('wherever between request and end of a run the process dies, every chunk is in once and is embedded once', {
  timeout: crashTimeout,
}, async () => {
  const path = knowledgePath(database, servers, embedder);
  const choose = chooseCrashes(atLeast);
  const findings = await runCrashes({ database, servers, path, choose, enough: atLeast });
  console.log(describeCrashes('knowledge', findings));
  console.log(`${path.askedAgain} texts were in flight at a death; ${path.orphans} files were swept`);
  expect(findings.breaches).toEqual([]);
  // A run that did less than it claims proves nothing.
  if (isFull) expect(listMissed(findings)).toEqual([]);
  expect(findings.deaths.length).toBeGreaterThanOrEqual(atLeast);
  expect(findings.cutOff).toBeGreaterThan(0);
  const seams = ['before message: commit', 'after message: commit', 'file: sync', 'request: /v1/embeddings'];
  for (const seam of [...seams, 'insert into embeddings_index', 'insert into knowledge_links']) {
    expect(findings.points.join('\n')).toContain(seam);
  }
});
