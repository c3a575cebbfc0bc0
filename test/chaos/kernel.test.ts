import { expect, test } from 'vitest';
import { type ChaosQuota, faultKinds, fullQuota, shortQuota } from './chaos-quota.ts';
import { type ChaosFindings, describe as tell } from './chaos-verdict.ts';
import { runKernelChaos } from './kernel-chaos.ts';

// `npm run chaos` runs the same test with the full quota; a printed seed repeats the choices of a run.
const isFull = process.env.SLUICE_CHAOS === 'full';
const quota: ChaosQuota = isFull ? fullQuota : shortQuota;
const seed = Number(process.env.SLUICE_CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 31));

test('under killed, stopped and cut off workers and a killed PostgreSQL every job has its effects exactly once', {
  timeout: isFull ? 60 * 60_000 : 5 * 60_000,
}, async () => {
  console.log(`seed ${seed} (SLUICE_CHAOS_SEED=${seed} repeats its choices)`);
  const findings = await runKernelChaos(quota, seed);
  console.log(tell(findings, seed));
  expect(findings.breaches).toEqual([]);
  expectQuotas(findings);
  // Late writes happened, and the database refused them.
  expect(findings.lateAttempts).toBeGreaterThan(0);
  expect(findings.lateWritesRefused).toBeGreaterThan(0);
  // A dead process is known by its lock, a stopped one only by its leases.
  expect(Object.keys(findings.causesOfKilled)).toEqual(['lock']);
  expect(Object.keys(findings.causesOfStopped)).toEqual(['expiry']);
  expect(findings.rescueMs.length).toBeGreaterThan(0);
});

/** A run that did less than it claims proves nothing. */
function expectQuotas(findings: ChaosFindings): void {
  expect(findings.jobs).toBe(quota.jobs);
  for (const kind of faultKinds) expect(findings.faults[kind], kind).toBe(quota[kind]);
}
