import { expect, test } from 'vitest';
import { useCommandLine } from '../support/servers/command-line.ts';
import { fullKernel, shortKernel } from './chaos-quota.ts';
import { expectSurvival, isFull } from './expect-quotas.ts';

const quota = isFull ? fullKernel : shortKernel;
const sluice = useCommandLine();

test('every job has its effects exactly once while workers are killed, stopped and cut off and PostgreSQL is killed', {
  timeout: isFull ? 30 * 60_000 : 5 * 60_000,
}, async () => {
  const findings = await expectSurvival(quota, sluice);
  // Late writes happened, and the database refused them.
  expect(findings.lateAttempts).toBeGreaterThan(0);
  expect(findings.lateWritesRefused).toBeGreaterThan(0);
  expect(findings.rescueMs.length).toBeGreaterThan(0);
});
