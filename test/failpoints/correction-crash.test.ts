import { expect, test } from 'vitest';
import { correctionEnv, correctionPath } from './correction-path.ts';
import { crashTimeout } from './crash-choice.ts';
import { expectCrashes, useCrashStage } from './crash-stage.ts';

const atLeast = 3;
const stage = useCrashStage(correctionEnv);

test('a process that dies anywhere while cells are corrected and promoted leaves sums that reconcile', {
  timeout: crashTimeout,
}, async () => {
  const { deaths } = await expectCrashes(stage, {
    name: 'corrections',
    path: correctionPath(stage.servers),
    atLeast,
    seams: ['upload_corrections', 'staging_rows', 'metric_breakdowns', 'after message: commit'],
  });
  expect(deaths.length).toBeGreaterThanOrEqual(atLeast);
});
