import { expect } from 'vitest';
import { type ChaosQuota, faultKinds } from './chaos-quota.ts';
import type { RunFindings } from './chaos-run.ts';
import { describe as tell } from './chaos-verdict.ts';

/** `npm run chaos` runs the same tests with the full quotas. */
export const isFull = process.env.SLUICE_CHAOS === 'full';

/** A printed seed repeats the choices of a run. */
export function chooseSeed(): number {
  const seed = Number(process.env.SLUICE_CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`seed ${seed} (SLUICE_CHAOS_SEED=${seed} repeats its choices)`);
  return seed;
}

/** How a run is told on the screen. */
export function tellRun(findings: RunFindings, seed: number): string {
  const { items, uploads, knowledge, scrapes, tookMs } = findings;
  return [
    tell(findings, seed),
    `${items.files} files of ${items.rows} rows, ${items.lateCalls} calls logged by workers that came too late; ` +
      `${uploads.reports} reports of ${uploads.rows} rows`,
    `${knowledge.bases} knowledge bases of ${knowledge.chunks} chunks, ${knowledge.pauses} pauses, ` +
      `${knowledge.askedAgain} chunks embedded again because a worker had gone`,
    `${scrapes.pushes} syncs of ${scrapes.handoffs} payloads made ${scrapes.jobs} jobs; ` +
      `${scrapes.failures} references were told to have failed, and were pushed again`,
    `milliseconds: ${JSON.stringify(tookMs)}`,
  ].join('\n');
}

/** A run that did less than it claims proves nothing. */
export function expectQuotas(findings: RunFindings, quota: ChaosQuota): void {
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
