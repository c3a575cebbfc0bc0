import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddingServer, startEmbeddingServer } from '../support/fakes/embedding-server.ts';
import { serveWebSite } from '../support/fakes/site.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { chooseCrashes, crashTimeout, isFull } from './crash-choice.ts';
import { describeCrashes, listMissed, runCrashes } from './crash-run.ts';
import { useFailpointServers } from './failpoint-server.ts';
import { crawlPath, harbourPages, scrapeEnv } from './scrape-path.ts';

const atLeast = 4;
let started: EmbeddingServer | undefined;
beforeAll(async () => {
  started = await startEmbeddingServer();
});
afterAll(() => started?.close());
// In a file of its own: a process that was left by another test would do the crawl unseen.
const database = useDatabase();
const servers = useFailpointServers(database, scrapeEnv);

function embedder(): EmbeddingServer {
  if (!started) throw new Error('The embedding server is there only once beforeAll has run');
  return started;
}

test('wherever in a crawl the process dies, each page is handed over once and is found', {
  timeout: crashTimeout,
}, async () => {
  const path = crawlPath({ database, servers, embedder }, await serveWebSite(harbourPages));
  const choose = chooseCrashes(atLeast);
  const findings = await runCrashes({ database, servers, path, choose, enough: atLeast });
  console.log(describeCrashes('crawl', findings));
  expect(findings.breaches).toEqual([]);
  // A run that did less than it claims proves nothing.
  if (isFull) expect(listMissed(findings)).toEqual([]);
  expect(findings.deaths.length).toBeGreaterThanOrEqual(atLeast);
  const seams = ['request: /crane', 'insert into crawl_frontier', 'with latest as', 'after message: commit'];
  for (const seam of seams) expect(findings.points.join('\n')).toContain(seam);
});
