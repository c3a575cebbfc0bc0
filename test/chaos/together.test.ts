import { expect, test } from 'vitest';
import { useCommandLine } from '../support/servers/command-line.ts';
import { fullTogether, shortTogether } from './chaos-quota.ts';
import { expectSurvival, isFull } from './expect-quotas.ts';

const quota = isFull ? fullTogether : shortTogether;
const sluice = useCommandLine();

test('nothing acknowledged by any pipeline is lost or applied twice, whatever fails', {
  timeout: isFull ? 60 * 60_000 : 15 * 60_000,
}, async () => {
  const findings = await expectSurvival(quota, sluice);
  // Each pipeline had its share of the faults.
  for (const target of ['jobs', 'uploads', 'items', 'knowledge', 'scrapes']) {
    expect(findings.killsByTarget[target], target).toBeGreaterThanOrEqual(Math.floor(quota.kills / 6));
    if (target === 'scrapes') continue;
    expect(findings.zombiesByTarget[target], target).toBeGreaterThanOrEqual(Math.floor(quota.zombies / 6));
  }
  expect(findings.knowledge.pauses).toBeGreaterThan(0);
  expect(findings.lateWritesRefused).toBeGreaterThanOrEqual(isFull ? 100 : 1);
  expect(findings.rescueMs.length).toBeGreaterThan(0);
  expect(findings.uploadRescueMs.length).toBeGreaterThan(0);
});
