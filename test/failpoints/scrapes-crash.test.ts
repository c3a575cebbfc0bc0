import { expect, test } from 'vitest';
import { crashTimeout } from './crash-choice.ts';
import { expectCrashes, useCrashStage, useEmbedder } from './crash-stage.ts';
import { pushPath, scrapeEnv } from './scrape-path.ts';

const atLeast = 3;
const embedder = useEmbedder();
const stage = useCrashStage(scrapeEnv);

test('a process that dies anywhere between push and index hands each payload over once, and the newest is found', {
  timeout: crashTimeout,
}, async () => {
  const { deaths } = await expectCrashes(stage, {
    name: 'push',
    path: pushPath({ ...stage, embedder }),
    atLeast,
    seams: [
      'insert into scrape_references',
      'select o.handoff_id as "handoffId"',
      'request: /v1/embeddings',
      'select e.job_id as "jobId", e.pipeline',
      'after message: commit',
    ],
  });
  expect(deaths.length).toBeGreaterThanOrEqual(atLeast);
});
