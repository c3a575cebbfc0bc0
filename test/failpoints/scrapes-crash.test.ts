import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddingServer, startEmbeddingServer } from '../support/fakes/embedding-server.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { chooseCrashes, crashTimeout, isFull } from './crash-choice.ts';
import { describeCrashes, listMissed, runCrashes } from './crash-run.ts';
import { useFailpointServers } from './failpoint-server.ts';
import { pushPath, scrapeEnv } from './scrape-path.ts';

const atLeast = 3;
let started: EmbeddingServer | undefined;
beforeAll(async () => {
  started = await startEmbeddingServer();
});
afterAll(() => started?.close());
const database = useDatabase();
const servers = useFailpointServers(database, scrapeEnv);

function embedder(): EmbeddingServer {
  if (!started) throw new Error('The embedding server is there only once beforeAll has run');
  return started;
}

test('wherever between push and index the process dies, each payload is handed over once and the newest is found', {
  timeout: crashTimeout,
}, async () => {
  const path = pushPath({ database, servers, embedder });
  const choose = chooseCrashes(atLeast);
  const findings = await runCrashes({ database, servers, path, choose, enough: atLeast });
  console.log(describeCrashes('push', findings));
  expect(findings.breaches).toEqual([]);
  // A run that did less than it claims proves nothing.
  if (isFull) expect(listMissed(findings)).toEqual([]);
  expect(findings.deaths.length).toBeGreaterThanOrEqual(atLeast);
  const seams = ['insert into scrape_references', 'with latest as', 'request: /v1/embeddings'];
  for (const seam of [...seams, 'select e.job_id as "jobId", e.pipeline', 'after message: commit']) {
    expect(findings.points.join('\n')).toContain(seam);
  }
});
