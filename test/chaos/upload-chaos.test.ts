import { expect, test } from 'vitest';
import { useCommandLine } from '../support/servers/command-line.ts';
import { fullUploads, shortUploads } from './chaos-quota.ts';
import { expectSurvival, isFull } from './expect-quotas.ts';

const quota = isFull ? fullUploads : shortUploads;
const sluice = useCommandLine();

test('every report arrives exactly once under faults, with each fact to the last digit and each event once', {
  timeout: isFull ? 30 * 60_000 : 5 * 60_000,
}, async () => {
  const findings = await expectSurvival(quota, sluice);
  expect(findings.killsByTarget).toEqual({ uploads: quota.kills });
  expect(findings.zombiesByTarget).toEqual({ uploads: quota.zombies });
  expect(findings.uploadRescueMs.length).toBeGreaterThan(0);
});
