import { beforeAll, describe, expect, test } from 'vitest';
import { readingOf } from '../../../test/support/probes/statement-reading.ts';
import { type TestClaims, useServer } from '../../../test/support/servers/server.ts';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import type { Tx } from '../../lib/postgres/db.ts';
import { overviewRoutes } from './overview.ts';
import { countActive, countEnded, countOpenDeadLetters } from './overview-store.ts';
import type { AttentionSource } from './types.ts';

const database = useDatabase();
const rowCounters = { alpha: 'rows', beta: 'pages' };
const held: AttentionSource = async (_tx, scope) => [
  { kind: 'things_held', code: null, count: 2, oldestAt: new Date(0), subjectId: scope.ownerId ?? null },
  { kind: 'things_gone', code: null, count: 0, oldestAt: null, subjectId: null },
];
const server = useServer(database, { routes: [overviewRoutes({ attention: [held], rowCounters })] });

interface Made {
  tenantId: string;
  pipeline?: string;
  status: string;
  count?: number;
  userId?: string;
  /** Null: it has not ended. */
  endedMinutesAgo?: number | null;
  errorCode?: string | null;
  counters?: object;
  dueInMinutes?: number;
}

async function make(made: Made): Promise<void> {
  await database.owner(
    `insert into ingestion_jobs (tenant_id, job_id, pipeline, subject_id, status, user_id, created_by, correlation_id,
                                 error_code, counters, started_at, run_at, finished_at, next_retry_at)
     select $1, gen_random_uuid(), $2, gen_random_uuid()::text, $3, $4, $4, 'c', $5, $6, now(),
            now() + $7 * interval '1 minute',
            now() - $8 * interval '1 minute', case when $3 = 'failed' then now() end
       from generate_series(1, $9)`,
    [
      made.tenantId,
      made.pipeline ?? 'alpha',
      made.status,
      made.userId ?? 'ada',
      made.errorCode ?? null,
      JSON.stringify(made.counters ?? {}),
      made.dueInMinutes ?? 0,
      made.endedMinutesAgo ?? null,
      made.count ?? 1,
    ],
  );
}

async function overview(claims: TestClaims) {
  const answer = await server.app.inject({
    url: '/api/stats/overview',
    headers: await server.bearer(claims),
  });
  expect(answer.statusCode).toBe(200);
  return answer.json();
}

describe('the overview', () => {
  test('the overview of a tenant without anything has nothing, at every point of the last day', async () => {
    const { needs_you, now, last_day } = await overview({ tenantId: await newTenant(database) });
    expect(needs_you).toHaveLength(1);
    expect(now).toMatchObject({ jobs: [], queued: 0, running: 0, waiting_since: null });
    expect(last_day).toMatchObject({ succeeded: 0, failed: 0, rows: 0, failures: [], step_seconds: 900 });
    expect(last_day.points).toHaveLength(96);
    expect(last_day.points.at(0).at).toBe(last_day.since);
  });

  test('counts what is going on, and since when the first waits that could start', async () => {
    const tenantId = await newTenant(database);
    await make({ tenantId, status: 'queued', dueInMinutes: -10 });
    await make({ tenantId, status: 'queued', dueInMinutes: -3, pipeline: 'beta' });
    await make({ tenantId, status: 'queued', dueInMinutes: 60 });
    await make({ tenantId, status: 'running', count: 4, dueInMinutes: -90 });
    await make({ tenantId, status: 'paused' });
    await make({ tenantId, status: 'failed', count: 2 });
    const { now } = await overview({ tenantId });
    expect(now).toMatchObject({ queued: 3, running: 4, paused: 1, waiting_for_retry: 2, workers_alive: 0 });
    expect(now.jobs).toEqual([
      { pipeline: 'alpha', status: 'failed', count: 2 },
      { pipeline: 'alpha', status: 'paused', count: 1 },
      { pipeline: 'alpha', status: 'queued', count: 2 },
      { pipeline: 'alpha', status: 'running', count: 4 },
      { pipeline: 'beta', status: 'queued', count: 1 },
    ]);
    const minutes = (Date.now() - Date.parse(now.waiting_since)) / 60_000;
    expect(Math.round(minutes)).toBe(10);
  });

  test('the last day adds up: points, sums and reasons, and the day before is left out', async () => {
    const tenantId = await newTenant(database);
    await make({ tenantId, status: 'success', count: 3, endedMinutesAgo: 1, counters: { rows: 10 } });
    await make({ tenantId, status: 'success', endedMinutesAgo: 600, counters: { rows: 5, pages: 99 } });
    await make({
      tenantId,
      status: 'success',
      endedMinutesAgo: 600,
      pipeline: 'beta',
      counters: { rows: 99, pages: 7 },
    });
    await make({
      tenantId,
      status: 'success',
      endedMinutesAgo: 30,
      pipeline: 'unknown',
      counters: { rows: 1 },
    });
    await make({ tenantId, status: 'dead_letter', count: 2, endedMinutesAgo: 700, errorCode: 'denied' });
    await make({ tenantId, status: 'dead_letter', endedMinutesAgo: 100, errorCode: 'denied' });
    await make({ tenantId, status: 'dead_letter', endedMinutesAgo: 100, errorCode: null, pipeline: 'beta' });
    await make({ tenantId, status: 'canceled', endedMinutesAgo: 100 });
    await make({ tenantId, status: 'success', endedMinutesAgo: 1_441, counters: { rows: 1_000 } });
    const { last_day } = await overview({ tenantId });
    expect(last_day).toMatchObject({ succeeded: 6, failed: 4, canceled: 1, rows: 42 });
    const sum = (name: 'succeeded' | 'failed' | 'rows') =>
      last_day.points.reduce(
        (total: number, point: Record<string, number>) => total + Number(point[name]),
        0,
      );
    expect([sum('succeeded'), sum('failed'), sum('rows')]).toEqual([6, 4, 42]);
    expect(last_day.failures).toEqual([
      { pipeline: 'alpha', error_code: 'denied', count: 3 },
      { pipeline: 'beta', error_code: null, count: 1 },
    ]);
  });

  test('a dead letter needs somebody until it is requeued; kinds of which there are none are left out', async () => {
    const tenantId = await newTenant(database);
    await make({ tenantId, status: 'dead_letter', count: 3, endedMinutesAgo: 5_000, errorCode: 'denied' });
    await database.owner(
      `insert into ingestion_jobs (tenant_id, job_id, pipeline, subject_id, status, created_by, correlation_id,
                                   requeued_from)
       select tenant_id, gen_random_uuid(), pipeline, subject_id, 'queued', created_by, 'c', job_id
         from ingestion_jobs where tenant_id = $1 limit 1`,
      [tenantId],
    );
    const { needs_you } = await overview({ tenantId });
    expect(needs_you).toMatchObject([
      { kind: 'dead_letters', code: 'denied', count: 2 },
      { kind: 'things_held', count: 2, oldest_at: '1970-01-01T00:00:00.000Z' },
    ]);
  });

  test('a member’s is about the member’s own things, and another tenant’s about its own', async () => {
    const tenantId = await newTenant(database);
    for (const userId of ['ada', 'bob']) {
      await make({ tenantId, status: 'running', userId });
      await make({ tenantId, status: 'dead_letter', userId, endedMinutesAgo: 5, errorCode: userId });
      await make({ tenantId, status: 'success', userId, endedMinutesAgo: 5, counters: { rows: 2 } });
    }
    const member = await overview({ tenantId, role: 'member', userId: 'bob' });
    expect(member.now.running).toBe(1);
    expect(member.last_day).toMatchObject({ succeeded: 1, failed: 1, rows: 2 });
    expect(member.needs_you).toMatchObject([{ code: 'bob', count: 1 }, { subject_id: 'bob' }]);
    expect((await overview({ tenantId, role: 'admin' })).now.running).toBe(2);
    expect((await overview({ tenantId: await newTenant(database) })).now.running).toBe(0);
  });
});

describe('with many jobs that ended long ago', () => {
  let tenantId = '';
  beforeAll(async () => {
    tenantId = await newTenant(database);
    await make({ tenantId, status: 'success', count: 20_000, endedMinutesAgo: 10_000 });
    await make({ tenantId, status: 'success', count: 20, endedMinutesAgo: 10 });
    await make({ tenantId, status: 'running', count: 10 });
    await make({ tenantId, status: 'dead_letter', count: 10, endedMinutesAgo: 10_000 });
  });

  test.each<[string, boolean, (tx: Tx) => Promise<unknown>]>([
    ['what is going on', false, (tx) => countActive(tx, { tenantId })],
    ['what is going on', true, (tx) => countActive(tx, { tenantId })],
    ['the last day', false, (tx) => countEnded(tx, { tenantId }, { ...lastDay(), rowCounters })],
    ['the last day', true, (tx) => countEnded(tx, { tenantId }, { ...lastDay(), rowCounters })],
    ['dead letters', true, (tx) => countOpenDeadLetters(tx, { tenantId })],
  ])('%s is read by index alone (statistics: %s)', async (_what, withStatistics, work) => {
    if (withStatistics) await database.owner('analyze ingestion_jobs');
    const context = { role: 'sluice_tenant' as const, tenantId };
    const { rows, scans } = await readingOf(database.db, { context, work });
    expect(rows, scans.join(', ')).toBeLessThan(500);
  });
});

function lastDay() {
  return { since: new Date(Date.now() - 86_400_000), stepSeconds: 900 };
}
