import { expect, test } from 'vitest';
import { useCommandLine } from '../support/servers/command-line.ts';
import { fullUploads, shortUploads } from './chaos-quota.ts';
import { runChaos } from './chaos-run.ts';
import { chooseSeed, expectQuotas, isFull, tellRun } from './expect-quotas.ts';

const quota = isFull ? fullUploads : shortUploads;
const sluice = useCommandLine();

test('under faults every report arrives once: each fact to the last digit, each event exactly once', {
  timeout: isFull ? 30 * 60_000 : 5 * 60_000,
}, async () => {
  const seed = chooseSeed();
  const findings = await runChaos(quota, seed, sluice);
  console.log(tellRun(findings, seed));
  expectQuotas(findings, quota);
  expect(findings.killsByTarget).toEqual({ uploads: quota.kills });
  expect(findings.zombiesByTarget).toEqual({ uploads: quota.zombies });
  expect(findings.uploadRescueMs.length).toBeGreaterThan(0);
});
