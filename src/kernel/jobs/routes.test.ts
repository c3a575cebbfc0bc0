import { expect, test } from 'vitest';
import { type TestClaims, useServer } from '../../../test/support/servers/server.ts';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { useKernel } from '../../../test/support/worlds/kernel.ts';
import type { ProbePayload } from '../../../test/support/worlds/probe-pipeline.ts';
import type { RouteModule } from '../http/route.ts';
import { statsRoutes } from '../stats/routes.ts';
import { dispatch } from './dispatch/service.ts';
import { jobRoutes } from './routes.ts';
import type { Job } from './types.ts';

const database = useDatabase();
const held = useKernel(database);
const late: RouteModule = (app, deps) => jobRoutes(held.kernel)(app, deps);
const server = useServer(database, { routes: [late, statsRoutes] });

function newJob(
  tenantId: string,
  subjectId: string,
  more: { payload?: ProbePayload; userId?: string } = {},
): Promise<Job> {
  return dispatch(held.kernel, tenantId, {
    pipeline: 'probe',
    subjectId,
    maxRetries: 5,
    createdBy: more.userId ?? 'a-user',
    userId: more.userId ?? 'a-user',
    payload: { ...more.payload },
  });
}

async function call(method: 'GET' | 'POST', path: string, claims: TestClaims, body?: object) {
  const answer = await server.app.inject({
    method,
    url: path,
    headers: await server.bearer(claims),
    ...(body ? { payload: body } : {}),
  });
  return { status: answer.statusCode, body: answer.json() };
}

test('a job is listed, read, paused, resumed and canceled over HTTP', async () => {
  const tenantId = await newTenant(database);
  const { jobId } = await newJob(tenantId, 'one');
  const list = await call('GET', '/api/jobs?status=queued&pipeline=probe', { tenantId });
  expect(list.body).toMatchObject({
    data: [{ jobId, status: 'queued', queueState: 'QUEUED' }],
    has_more: false,
  });
  expect((await call('POST', `/api/jobs/${jobId}/pause`, { tenantId })).body).toMatchObject({
    queueState: 'PAUSED',
  });
  const kickoff = await call('POST', `/api/jobs/${jobId}/kickoff`, { tenantId });
  expect(kickoff).toMatchObject({ status: 409, body: { code: 'illegal_transition' } });
  expect((await call('POST', `/api/jobs/${jobId}/resume`, { tenantId })).body).toMatchObject({
    status: 'queued',
  });
  expect((await call('POST', `/api/jobs/${jobId}/cancel`, { tenantId })).body).toMatchObject({
    status: 'canceled',
    queueState: 'FAILED',
    errorMessage: 'Canceled by user',
  });
  expect(await call('POST', `/api/jobs/${jobId}/pause`, { tenantId })).toMatchObject({
    status: 409,
    body: { code: 'illegal_transition', from: 'canceled', to: 'paused' },
  });
});

test('pages go through all jobs once, newest first', async () => {
  const tenantId = await newTenant(database);
  for (let n = 0; n < 7; n += 1) await newJob(tenantId, `page-${n}`);
  const seen: string[] = [];
  let cursor = '';
  do {
    const { body } = await call('GET', `/api/jobs?limit=3${cursor && `&cursor=${cursor}`}`, { tenantId });
    seen.push(...body.data.map((job: { subjectId: string }) => job.subjectId));
    cursor = body.next_cursor ?? '';
  } while (cursor);
  expect(seen).toEqual([6, 5, 4, 3, 2, 1, 0].map((n) => `page-${n}`));
});

test('a member sees and steers only the own jobs, an admin the tenant’s, nobody another tenant’s', async () => {
  const tenantId = await newTenant(database);
  const stranger = await newTenant(database);
  const mine = await newJob(tenantId, 'mine', { userId: 'me' });
  const theirs = await newJob(tenantId, 'theirs', { userId: 'them' });
  const me = { tenantId, role: 'member', userId: 'me' } as const;
  expect((await call('GET', '/api/jobs', me)).body.data.map((job: Job) => job.jobId)).toEqual([mine.jobId]);
  expect((await call('GET', `/api/jobs/${theirs.jobId}`, me)).status).toBe(404);
  for (const action of ['pause', 'resume', 'cancel', 'kickoff']) {
    expect((await call('POST', `/api/jobs/${theirs.jobId}/${action}`, me)).status).toBe(404);
    expect((await call('POST', `/api/jobs/${mine.jobId}/${action}`, { tenantId: stranger })).status).toBe(
      404,
    );
  }
  expect((await call('GET', '/api/jobs', { tenantId })).body.data).toHaveLength(2);
  expect((await call('GET', '/api/stats/jobs', me)).body.data).toMatchObject([{ count: 1 }]);
  expect((await call('GET', '/api/stats/jobs', { tenantId })).body.data).toMatchObject([{ count: 2 }]);
});

test('kickoff drives a job inside the request', async () => {
  const tenantId = await newTenant(database);
  const { jobId } = await newJob(tenantId, 'kick', {
    payload: { steps: [{ do: 'continue' }, { do: 'done' }] },
  });
  expect(await call('POST', `/api/jobs/${jobId}/kickoff?durationMs=60000`, { tenantId })).toMatchObject({
    status: 200,
    body: { processed: 2, remaining: 0, queueState: 'DONE' },
  });
});

test('a service cycles its own tenant, an operator all tenants', async () => {
  const [a, b] = [await newTenant(database), await newTenant(database)];
  await held.kernel.cycle({ budgetMs: 60_000 });
  await Promise.all([newJob(a, 'x'), newJob(b, 'y')]);
  expect((await call('POST', '/api/worker/cycle', { tenantId: a, role: 'service' })).body).toEqual({
    queued_processed: 1,
    retry_processed: 0,
  });
  expect((await call('POST', '/api/worker/cycle', { tenantId: a, role: 'operator' })).body).toEqual({
    queued_processed: 1,
    retry_processed: 0,
  });
});

test('support requeues a dead letter once; an admin may not', async () => {
  const tenantId = await newTenant(database);
  const dead = await newJob(tenantId, 'dead', { payload: { steps: [{ do: 'dead' }] } });
  await held.kernel.cycle({ budgetMs: 60_000, tenantId });
  const list = await call('GET', '/api/dead-letters?error_code=probe_failed', { tenantId });
  expect(list.body.data).toMatchObject([{ job_id: dead.jobId, error_code: 'probe_failed' }]);
  const path = `/api/dead-letters/${dead.jobId}/requeue`;
  expect((await call('POST', path, { tenantId, role: 'admin' })).status).toBe(403);
  const support = { tenantId, role: 'support' } as const;
  const made = await call('POST', path, support, { correlation_id: 'ticket-7' });
  expect(made).toMatchObject({
    status: 201,
    body: { requeued_from: dead.jobId, status: 'queued', correlation_id: 'ticket-7' },
  });
  expect(await call('POST', path, support)).toMatchObject({
    status: 409,
    body: { code: 'already_requeued', requeued_as: made.body.job_id },
  });
  expect((await call('GET', '/api/stats/dead-letters', { tenantId })).body.data).toMatchObject([
    { error_code: 'probe_failed', count: 1, requeued: 1 },
  ]);
});

test('bulk requeue takes all that match and says what it skipped', async () => {
  const tenantId = await newTenant(database);
  for (const subject of ['a', 'b', 'c'])
    await newJob(tenantId, subject, { payload: { steps: [{ do: 'dead' }] } });
  await held.kernel.cycle({ budgetMs: 60_000, tenantId });
  await newJob(tenantId, 'b');
  const support = { tenantId, role: 'support' } as const;
  const { body } = await call('POST', '/api/dead-letters/requeue', support, { error_code: 'probe_failed' });
  expect(body.requeued).toHaveLength(2);
  expect(body.skipped).toMatchObject([{ code: 'job_already_active' }]);
});

test('a job without progress for two hours is reported as stuck', async () => {
  const tenantId = await newTenant(database);
  const { jobId } = await newJob(tenantId, 'stuck', {
    payload: { steps: [{ do: 'wait', delayMs: 60_000 }] },
  });
  await held.kernel.cycle({ budgetMs: 60_000, tenantId });
  expect((await call('GET', '/api/stats/stuck-jobs', { tenantId })).body.data).toEqual([]);
  await database.owner(
    `update ingestion_jobs set started_at = clock_timestamp() - interval '3 h',
       progressed_at = clock_timestamp() - interval '3 h' where job_id = $1`,
    [jobId],
  );
  expect((await call('GET', '/api/stats/stuck-jobs', { tenantId })).body.data).toMatchObject([
    { job_id: jobId },
  ]);
});
