import { expect, test } from 'vitest';
import { type ProductCall, productOf } from '../chaos/items-provider.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { skusOf, useProviderJobs } from '../support/worlds/provider-jobs.ts';

// What becomes of calls when somebody cancels or pauses their job, or their time is up.
const database = useDatabase();
const { askProvider, untilDone, endsOf, call } = useProviderJobs(database);

test('a cancel aborts calls without a response, and their rows are skipped like the others', {
  timeout: 120_000,
}, async () => {
  const rows = 40;
  const silent = () => ({ type: 'hang' }) as const;
  const { provider, tenantId, jobId } = await askProvider(skusOf('hanging', rows), silent, {
    timeoutMs: 120_000,
  });
  await eventually(async () => provider.log.length > 0, 'the provider is asked', 60_000);
  await call(tenantId, 'POST', `/api/jobs/${jobId}/cancel`);
  const skipped = async () =>
    (await database.owner(`select from job_items where job_id = $1 and status = 'SKIPPED'`, [jobId])).length;
  await eventually(async () => (await skipped()) === rows, 'all rows are skipped', 60_000);
});

test('a paused job starts no further call, keeps the started ones, and returns the attempts of the others', {
  timeout: 180_000,
}, async () => {
  const rows = 200;
  let delayMs = 1_500;
  const answer = ({ sku }: ProductCall) => ({ status: 200, body: productOf(sku), delayMs });
  const { provider, tenantId, jobId } = await askProvider(skusOf('ok', rows), answer);
  await eventually(async () => provider.log.length > 0, 'the provider is asked', 60_000);
  await call(tenantId, 'POST', `/api/jobs/${jobId}/pause`);
  const processing = async () =>
    (await database.owner(`select from job_items where job_id = $1 and status = 'PROCESSING'`, [jobId]))
      .length;
  await eventually(async () => (await processing()) === 0, 'nothing is under way', 60_000);
  const asked = provider.log.length;
  // A look at the job's state takes a second at most, and so does what had begun by then.
  expect(asked).toBeLessThan(rows / 2);
  const done = await database.owner(`select from job_items where job_id = $1 and status = 'DONE'`, [jobId]);
  expect(done.length).toBe(asked);
  expect(
    await database.owner(`select from job_items where job_id = $1 and status = 'PENDING' and attempts > 0`, [
      jobId,
    ]),
  ).toEqual([]);
  delayMs = 10;
  await call(tenantId, 'POST', `/api/jobs/${jobId}/resume`);
  await untilDone(jobId, 150_000);
  expect(await endsOf(jobId)).toEqual([{ status: 'DONE', code: null, attempts: 1, rows }]);
  expect(provider.log.length).toBe(rows);
});

test('a kickoff starts no call after its time is over, however slow the provider is', {
  timeout: 120_000,
}, async () => {
  const rows = 1_000;
  const slow = ({ sku }: ProductCall) => ({ status: 200, body: productOf(sku), delayMs: 1_000 });
  const { provider, tenantId, jobId } = await askProvider(skusOf('ok', rows), slow, {
    env: { SLUICE_WORKER: 'false' },
  });
  await call(tenantId, 'POST', `/api/jobs/${jobId}/kickoff?durationMs=8000`);
  const asked = provider.log.length;
  expect(asked).toBeGreaterThan(0);
  expect(asked).toBeLessThan(rows / 2);
  const left = await database.owner(`select from job_items where job_id = $1 and status = 'PROCESSING'`, [
    jobId,
  ]);
  expect(left).toEqual([]);
});
