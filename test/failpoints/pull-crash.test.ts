import { afterAll, beforeAll, expect, test } from 'vitest';
import { AdAccount } from '../support/fakes/ad-account.ts';
import { startFakeMeta } from '../support/fakes/fake-meta-insights.ts';
import type { ReportingServer } from '../support/fakes/reporting-server.ts';
import { crashTimeout } from './crash-choice.ts';
import { expectCrashes, useCrashStage } from './crash-stage.ts';
import { pullEnv, pullPath } from './pull-path.ts';

const atLeast = 3;
const stage = useCrashStage(pullEnv);
let fake: ReportingServer | undefined;

beforeAll(async () => {
  const days = ['2026-03-01', '2026-03-02', '2026-03-03', '2026-03-04', '2026-03-05'];
  fake = await startFakeMeta(AdAccount.over(days));
});
afterAll(() => fake?.close());

test('a process that dies anywhere in a pull makes one upload of the report, and its sums reconcile', {
  timeout: crashTimeout,
}, async () => {
  const path = pullPath(stage.servers, () => {
    if (!fake) throw new Error('The platform is available only after beforeAll has run');
    return fake;
  });
  const { deaths } = await expectCrashes(stage, {
    name: 'pull',
    path,
    atLeast,
    seams: [
      'insert into upload_source_contents',
      'update upload_sources',
      'file: sync',
      'after message: commit',
    ],
  });
  expect(deaths.length).toBeGreaterThanOrEqual(atLeast);
});
