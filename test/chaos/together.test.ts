import { expect, test } from 'vitest';
import { useCommandLine } from '../support/servers/command-line.ts';
import { fullTogether, shortTogether } from './chaos-quota.ts';
import { runChaos } from './chaos-run.ts';
import { chooseSeed, expectQuotas, isFull, tellRun } from './expect-quotas.ts';

const quota = isFull ? fullTogether : shortTogether;
const sluice = useCommandLine();

test('over all pipelines together nothing that was acknowledged is lost or applied twice, whatever fails', {
  timeout: isFull ? 60 * 60_000 : 15 * 60_000,
}, async () => {
  const seed = chooseSeed();
  const findings = await runChaos(quota, seed, sluice);
  console.log(tellRun(findings, seed));
  expectQuotas(findings, quota);
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
