import { expect, test } from 'vitest';
import { useCommandLine } from '../support/servers/command-line.ts';
import { fullKernel, shortKernel } from './chaos-quota.ts';
import { runChaos } from './chaos-run.ts';
import { chooseSeed, expectQuotas, isFull, tellRun } from './expect-quotas.ts';

const quota = isFull ? fullKernel : shortKernel;
const sluice = useCommandLine();

test('under killed, stopped and cut off workers and a killed PostgreSQL every job has its effects exactly once', {
  timeout: isFull ? 30 * 60_000 : 5 * 60_000,
}, async () => {
  const seed = chooseSeed();
  const findings = await runChaos(quota, seed, sluice);
  console.log(tellRun(findings, seed));
  expectQuotas(findings, quota);
  // Late writes happened, and the database refused them.
  expect(findings.lateAttempts).toBeGreaterThan(0);
  expect(findings.lateWritesRefused).toBeGreaterThan(0);
  expect(findings.rescueMs.length).toBeGreaterThan(0);
});
