import { expect } from 'vitest';
import type { CommandLine } from '../support/servers/command-line.ts';
import { type ChaosQuota, faultKinds } from './chaos-quota.ts';
import { type RunFindings, runChaos } from './chaos-run.ts';
import { describe as describeFaults } from './chaos-verdict.ts';

/** `npm run chaos` runs the same tests with the full quotas. */
export const isFull = process.env.SLUICE_CHAOS === 'full';

/** Prints the seed, which repeats the choices of a run. */
export function chooseSeed(): number {
  const seed = Number(process.env.SLUICE_CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`seed ${seed} (SLUICE_CHAOS_SEED=${seed} repeats its choices)`);
  return seed;
}

/** Runs faults against everything that the quota has, prints what was found and expects no breach. */
export async function expectSurvival(quota: ChaosQuota, sluice: CommandLine): Promise<RunFindings> {
  const seed = chooseSeed();
  const findings = await runChaos(quota, seed, sluice);
  console.log(describeRun(findings, seed));
  expectQuotas(findings, quota);
  return findings;
}

function describeRun(findings: RunFindings, seed: number): string {
  const { items, uploads, knowledge, scrapes, tookMs } = findings;
  return [
    describeFaults(findings, seed),
    `${items.files} files of ${items.rows} rows, ${items.lateCalls} calls logged by workers that came too late; ` +
      `${uploads.reports} reports of ${uploads.rows} rows`,
    `${knowledge.bases} knowledge bases of ${knowledge.chunks} chunks, ${knowledge.pauses} pauses, ` +
      `${knowledge.askedAgain} chunks embedded again because a worker had died`,
    `${scrapes.pushes} syncs of ${scrapes.handoffs} payloads made ${scrapes.jobs} jobs; ` +
      `${scrapes.failures} references were reported as failed, and were pushed again`,
    `milliseconds: ${JSON.stringify(tookMs)}`,
  ].join('\n');
}

/** A run that did less than it claims proves nothing. */
function expectQuotas(findings: RunFindings, quota: ChaosQuota): void {
  expect(findings.breaches.slice(0, 20)).toEqual([]);
  for (const kind of faultKinds) expect(findings.faults[kind], kind).toBe(quota[kind]);
  expect(findings.jobs).toBeGreaterThanOrEqual(quota.jobs);
  expect(findings.uploads.reports).toBeGreaterThanOrEqual(quota.product?.reports ?? 0);
  expect(findings.knowledge.bases).toBeGreaterThanOrEqual(quota.product?.bases ?? 0);
  expect(findings.scrapes.pushes).toBeGreaterThanOrEqual(quota.product?.pushes ?? 0);
  const files = Object.values(quota.product?.items ?? {}).reduce((sum, { jobs }) => sum + jobs, 0);
  expect(findings.items.files).toBeGreaterThanOrEqual(files);
  // A dead process is known by its lock, a stopped one only by its leases.
  expect(Object.keys(findings.causesOfKilled)).toEqual(['lock']);
  expect(Object.keys(findings.causesOfStopped)).toEqual(['expiry']);
  for (const progressMs of findings.progressAfterRestartMs) expect(progressMs).toBeLessThan(Infinity);
}
