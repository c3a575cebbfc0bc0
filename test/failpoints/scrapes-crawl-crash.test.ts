import { expect, test } from 'vitest';
import { serveWebSite } from '../support/fakes/site.ts';
import { crashTimeout } from './crash-choice.ts';
import { expectCrashes, useCrashStage, useEmbedder } from './crash-stage.ts';
import { crawlPath, harbourPages, scrapeEnv } from './scrape-path.ts';

const atLeast = 4;
const embedder = useEmbedder();
// In a file of its own: a process that another test left behind would do the crawl unseen.
const stage = useCrashStage(scrapeEnv);

test('a process that dies anywhere in a crawl hands each page over once, and each is found', {
  timeout: crashTimeout,
}, async () => {
  const { deaths } = await expectCrashes(stage, {
    name: 'crawl',
    path: crawlPath({ ...stage, embedder }, await serveWebSite(harbourPages)),
    atLeast,
    seams: [
      'request: /crane',
      'insert into crawl_frontier',
      'select o.handoff_id as "handoffId"',
      'after message: commit',
    ],
  });
  expect(deaths.length).toBeGreaterThanOrEqual(atLeast);
});
