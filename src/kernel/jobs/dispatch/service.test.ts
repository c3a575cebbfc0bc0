import { expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { useKernel } from '../../../../test/support/worlds/kernel.ts';
import type { ProbePayload } from '../../../../test/support/worlds/probe-pipeline.ts';
import { isSluiceError } from '../../../lib/errors.ts';
import type { Job, NewJob } from '../types.ts';
import { Quotas } from './quotas.ts';
import { cancel, dispatch, getJob, type JobsDeps, pause, requeue, resume } from './service.ts';

const database = useDatabase();
const held = useKernel(database);

function deps(): JobsDeps {
  return held.kernel;
}

function probe(subjectId: string, payload: ProbePayload = {}): NewJob {
  return { pipeline: 'probe', subjectId, maxRetries: 5, createdBy: 'tester', payload: { ...payload } };
}

async function problemOf(
  promise: Promise<unknown>,
): Promise<{ code: string; details: Record<string, unknown> }> {
  const error = await promise.then(
    () => new Error('it succeeded'),
    (thrown: unknown) => thrown,
  );
  if (!isSluiceError(error)) throw error;
  return { code: error.code, details: error.details };
}

async function eventsOf(job: Job): Promise<string[]> {
  const rows = await database.owner<{ type: string }>(
    'select type from events where subject = $1 order by xid, event_id',
    [job.jobId],
  );
  return rows.map((row) => row.type);
}

async function effectsOf(job: Job): Promise<number[]> {
  const rows = await database.owner<{ step: number }>(
    'select step from probe_effects where job_id = $1 order by step',
    [job.jobId],
  );
  return rows.map((row) => row.step);
}

function drive(tenantId: string) {
  return held.kernel.cycle({ budgetMs: 10_000, tenantId });
}

test('a thousand racing dispatches of one subject make one job', { timeout: 120_000 }, async () => {
  const tenantId = await newTenant(database);
  const results = await Promise.allSettled(
    Array.from({ length: 1_000 }, () => dispatch(deps(), tenantId, probe('racing'))),
  );
  const made = results.filter((result) => result.status === 'fulfilled');
  expect(made).toHaveLength(1);
  const jobId = made[0]?.value.jobId;
  const refusals = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason);
  expect(new Set(refusals.map((error) => `${error.code} ${error.details.active_job_id}`))).toEqual(
    new Set([`job_already_active ${jobId}`]),
  );
});

test('slices run to the end, each effect once, with one event per happening', async () => {
  const tenantId = await newTenant(database);
  const steps: ProbePayload['steps'] = [{ do: 'continue' }, { do: 'continue' }, { do: 'continue' }];
  const job = await dispatch(deps(), tenantId, probe('three', { steps }));
  expect(await drive(tenantId)).toEqual({ queued_processed: 1, retry_processed: 0 });
  const done = await getJob(deps(), job);
  expect(done).toMatchObject({
    status: 'success',
    checkpoint: { step: 3 },
    counters: { slices: 3 },
    leasedBy: null,
  });
  expect(await effectsOf(job)).toEqual([0, 1, 2]);
  expect(await eventsOf(job)).toEqual(['job.queued', 'job.started', 'job.completed']);
});

test('a retry is counted, announced, waits, and runs again as a retry', async () => {
  const tenantId = await newTenant(database);
  const job = await dispatch(
    deps(),
    tenantId,
    probe('retry', { steps: [{ do: 'retry', delayMs: 0 }, { do: 'done' }] }),
  );
  expect(await drive(tenantId)).toEqual({ queued_processed: 1, retry_processed: 0 });
  expect(await getJob(deps(), job)).toMatchObject({ status: 'success', retryCount: 1, errorCode: null });
  expect(await eventsOf(job)).toEqual([
    'job.queued',
    'job.started',
    'job.failed',
    'job.retry',
    'job.started',
    'job.completed',
  ]);
});

test('a job has no more retries than it was made with, whatever its pipeline would allow', async () => {
  const tenantId = await newTenant(database);
  const steps = Array.from({ length: 8 }, () => ({ do: 'retry', delayMs: 0 }) as const);
  const job = await dispatch(deps(), tenantId, { ...probe('used up', { steps }), maxRetries: 2 });
  await drive(tenantId);
  expect(await getJob(deps(), job)).toMatchObject({ status: 'dead_letter', retryCount: 2, maxRetries: 2 });
});

test('a due retry alone counts as retry_processed', async () => {
  const tenantId = await newTenant(database);
  await dispatch(
    deps(),
    tenantId,
    probe('later', { steps: [{ do: 'retry', delayMs: 60_000 }, { do: 'done' }] }),
  );
  await drive(tenantId);
  await database.owner("update ingestion_jobs set run_at = clock_timestamp() where status = 'failed'");
  expect(await drive(tenantId)).toEqual({ queued_processed: 0, retry_processed: 1 });
});

test('waiting uses no attempt', async () => {
  const tenantId = await newTenant(database);
  const job = await dispatch(
    deps(),
    tenantId,
    probe('wait', { steps: [{ do: 'wait', delayMs: 60_000 }, { do: 'done' }] }),
  );
  await drive(tenantId);
  expect(await getJob(deps(), job)).toMatchObject({ status: 'running', retryCount: 0, leasedBy: null });
});

test('dispatching while a retry waits brings that retry forward, but not before Retry-After', async () => {
  const tenantId = await newTenant(database);
  const job = await dispatch(
    deps(),
    tenantId,
    probe('forward', { steps: [{ do: 'retry', delayMs: 60_000 }] }),
  );
  await drive(tenantId);
  const forwarded = await dispatch(deps(), tenantId, probe('forward'));
  expect(forwarded.jobId).toBe(job.jobId);
  expect(forwarded.runAt.getTime()).toBeLessThan(Date.now() + 5_000);
  await database.owner(
    `update ingestion_jobs set run_at = clock_timestamp() + interval '1 h', next_retry_at = run_at,
       not_before = clock_timestamp() + interval '30 min' where job_id = $1`,
    [job.jobId],
  );
  const held = await dispatch(deps(), tenantId, probe('forward'));
  expect(held.runAt.getTime()).toBeGreaterThan(Date.now() + 29 * 60_000);
  expect(held.runAt.getTime()).toBeLessThan(Date.now() + 31 * 60_000);
});

test('a due retry waits while its subject has another active job', async () => {
  const tenantId = await newTenant(database);
  const retry = await dispatch(
    deps(),
    tenantId,
    probe('pair', { steps: [{ do: 'retry', delayMs: 60_000 }, { do: 'done' }] }),
  );
  await drive(tenantId);
  await database.owner(
    `insert into ingestion_jobs (tenant_id, job_id, pipeline, subject_id, correlation_id, created_by, run_at)
     values ($1, gen_random_uuid(), 'probe', 'pair', 'c', 't', clock_timestamp() + interval '1 h')`,
    [tenantId],
  );
  await database.owner('update ingestion_jobs set run_at = clock_timestamp() where job_id = $1', [
    retry.jobId,
  ]);
  expect(await drive(tenantId)).toEqual({ queued_processed: 0, retry_processed: 0 });
  expect((await getJob(deps(), retry)).status).toBe('failed');
  await database.owner(
    "update ingestion_jobs set status = 'success' where tenant_id = $1 and status = 'queued'",
    [tenantId],
  );
  expect(await drive(tenantId)).toEqual({ queued_processed: 0, retry_processed: 1 });
});

test('a permanent error is a dead letter at once, and is requeued exactly once', async () => {
  const tenantId = await newTenant(database);
  const job = await dispatch(
    deps(),
    tenantId,
    probe('dead', { steps: [{ do: 'throw', message: 'permanent' }] }),
  );
  await drive(tenantId);
  expect(await getJob(deps(), job)).toMatchObject({ status: 'dead_letter', errorCode: 'probe_permanent' });
  const results = await Promise.allSettled(
    Array.from({ length: 10 }, () => requeue(deps(), job, { requestedBy: 'support' })),
  );
  const made = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  expect(made).toHaveLength(1);
  const named = results.flatMap((result) =>
    result.status === 'rejected' ? [`${result.reason.code} ${result.reason.details.requeued_as}`] : [],
  );
  expect(new Set(named)).toEqual(new Set([`already_requeued ${made[0]?.jobId}`]));
  expect(made[0]).toMatchObject({
    status: 'queued',
    requeuedFrom: job.jobId,
    correlationId: job.correlationId,
  });
  expect(await problemOf(requeue(deps(), job, { requestedBy: 'support' }))).toEqual({
    code: 'already_requeued',
    details: { requeued_as: made[0]?.jobId },
  });
  if (made[0]) expect(await eventsOf(made[0])).toEqual(['job.queued', 'job.requeued']);
});

test('an unforeseen error is retried within limits and then a dead letter with its message', async () => {
  const tenantId = await newTenant(database);
  const job = await dispatch(
    deps(),
    tenantId,
    probe('bug', { steps: [{ do: 'throw', message: 'no such thing' }] }),
  );
  for (let round = 0; round < 5; round += 1) {
    await drive(tenantId);
    await database.owner("update ingestion_jobs set run_at = clock_timestamp() where status = 'failed'");
  }
  expect(await getJob(deps(), job)).toMatchObject({
    status: 'dead_letter',
    retryCount: 3,
    errorMessage: 'no such thing',
  });
});

test('pause parks a job, resume brings it back to where it was, and illegal moves name both states', async () => {
  const tenantId = await newTenant(database);
  const job = await dispatch(deps(), tenantId, probe('pausing'));
  expect((await pause(deps(), job)).status).toBe('paused');
  expect(await drive(tenantId)).toEqual({ queued_processed: 0, retry_processed: 0 });
  expect(await problemOf(pause(deps(), job))).toEqual({
    code: 'illegal_transition',
    details: { from: 'paused', to: 'paused' },
  });
  expect((await resume(deps(), job)).status).toBe('queued');
  await drive(tenantId);
  expect(await problemOf(cancel(deps(), job))).toEqual({
    code: 'illegal_transition',
    details: { from: 'success', to: 'canceled' },
  });
});

test('a canceled job is cleaned up in slices, and its subject is free only afterwards', async () => {
  const tenantId = await newTenant(database);
  const steps: ProbePayload['steps'] = [{ do: 'continue' }, { do: 'wait', delayMs: 60_000 }, { do: 'done' }];
  const job = await dispatch(deps(), tenantId, probe('cancel', { steps, cleanupSlices: 3 }));
  await drive(tenantId);
  expect(await effectsOf(job)).toEqual([0, 1]);
  expect(await cancel(deps(), job)).toMatchObject({ status: 'canceled', cleanupOpen: true });
  expect(await problemOf(dispatch(deps(), tenantId, probe('cancel')))).toEqual({
    code: 'cleanup_in_progress',
    details: { active_job_id: job.jobId, status: 'canceled' },
  });
  await drive(tenantId);
  expect(await getJob(deps(), job)).toMatchObject({ status: 'canceled', cleanupOpen: false });
  expect(await effectsOf(job)).toEqual([]);
  await expect(dispatch(deps(), tenantId, probe('cancel'))).resolves.toMatchObject({ status: 'queued' });
});

test('kickoff drives one job without a worker, and says who is at work when another has it', async () => {
  const tenantId = await newTenant(database);
  const steps: ProbePayload['steps'] = [{ do: 'continue' }, { do: 'continue' }];
  const job = await dispatch(deps(), tenantId, probe('kick', { steps }));
  const report = await held.kernel.kickOff({ tenantId, jobId: job.jobId, durationMs: 60_000 });
  expect(report).toMatchObject({ processed: 2, remaining: 0, job: { status: 'success' }, leasedBy: null });
  const busy = await dispatch(deps(), tenantId, probe('busy'));
  const other = '00000000-0000-7000-8000-000000000001';
  await database.owner(
    `update ingestion_jobs set status = 'running', leased_by = $2,
       lease_expires_at = clock_timestamp() + interval '1 h',
       lease_epoch = 1 where job_id = $1`,
    [busy.jobId, other],
  );
  expect(await held.kernel.kickOff({ tenantId, jobId: busy.jobId, durationMs: 100 })).toMatchObject({
    processed: 0,
    leasedBy: other,
  });
});

test('a tenant whose queue is full is told when to come back, and others are not', async () => {
  const tenantId = await newTenant(database);
  await database.owner(`update tenants set limits = '{"queued_jobs": 2}' where tenant_id = $1`, [tenantId]);
  const quotas = new Quotas({ db: database.db, maxQueued: 100 });
  await dispatch(deps(), tenantId, probe('first'));
  await expect(quotas.assertRoom(tenantId)).resolves.toBeUndefined();
  await dispatch(deps(), tenantId, probe('second'));
  const fresh = new Quotas({ db: database.db, maxQueued: 100 });
  expect(await problemOf(fresh.assertRoom(tenantId))).toEqual({
    code: 'quota_exceeded',
    details: { waiting: 2, limit: 2 },
  });
  await expect(fresh.assertRoom(await newTenant(database))).resolves.toBeUndefined();
});
