import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { slowPageMs } from '../../src/ingest/items/grid/page-timing.ts';
import type { ItemHouse } from '../../src/ingest/items/open.ts';
import { eventRoutes } from '../../src/kernel/events/routes.ts';
import { getJob } from '../../src/kernel/jobs/dispatch/service.ts';
import type { Pipeline } from '../../src/kernel/jobs/types.ts';
import { installGauges } from '../../src/kernel/stats/metrics.ts';
import { startFlakyProvider } from '../support/fakes/flaky-provider.ts';
import { keptLog, metricIn, sumOf, type Told } from '../support/probes/signals.ts';
import { useItemServer } from '../support/servers/item-server.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { itemBounds } from '../support/worlds/item-bounds.ts';
import { testItemHouse } from '../support/worlds/item-house.ts';

const database = useDatabase();
const registry = new Registry();
const { logger, logged } = keptLog();
/** Small claims and short turns, so that a few hundred rows are many batches; a slow machine is no slow database. */
const bounds = { ...itemBounds, claimMax: 20, targetSliceMs: 50, dbP50Ms: 5_000, dbP95Ms: 20_000 };
const noStreams = {
  open: () => {
    throw new Error('no stream is opened here');
  },
  closeAll: () => {},
};
const { held, server } = useItemServer(database, { registry, logger, bounds }, ({ wake }) => [
  eventRoutes({ wake, streams: noStreams }),
]);

async function post(
  claims: TestClaims,
  { csv, processor = 'noop', options = {} }: { csv: string; processor?: string; options?: object },
): Promise<string> {
  const form = new FormData();
  form.set('processor', processor);
  form.set('options', JSON.stringify(options));
  form.set('file', new Blob([csv], { type: 'text/csv' }), 'rows.csv');
  const headers = await server.bearer(claims);
  const answer = await fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body: form });
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { jobId: string }).jobId;
}

async function call<Body>(claims: TestClaims, path: string, body?: object): Promise<Body> {
  const headers: Record<string, string> = await server.bearer(claims);
  if (body) headers['content-type'] = 'application/json';
  const more = body ? { method: 'POST', body: JSON.stringify(body) } : {};
  const answer = await fetch(`${server.url}${path}`, { headers, ...more });
  expect(answer.status, path).toBe(200);
  return (await answer.json()) as Body;
}

const metric = (series: string, from = registry) => metricIn(from, series);

interface JobView {
  counts: Record<string, number>;
  controllers: {
    ingest?: { rows: number; reason: string };
    claim?: { items: number; reason: string; spacingMs: number };
    providers?: { provider: string; concurrency: number; reason: string }[];
    savedBy?: string;
  };
}
const jobOf = (claims: TestClaims, jobId: string) => call<JobView>(claims, `/api/jobs/${jobId}`);

async function eventsOf(claims: TestClaims, jobId: string): Promise<Told[]> {
  const path = `/api/events?type=item.*&subject=${jobId}&limit=200`;
  const page = await call<{ data: Told[]; has_more: boolean }>(claims, path);
  expect(page.has_more).toBe(false);
  return page.data;
}

/** Retries come due, so that the test need not wait for them. */
async function makeRetriesDue(jobId: string): Promise<void> {
  await database.owner(
    `update job_items set due_at = '-infinity' where job_id = $1 and status = 'PENDING' and due_at > '-infinity'`,
    [jobId],
  );
  await database.owner('update ingestion_jobs set run_at = clock_timestamp() where job_id = $1', [jobId]);
}

/** The last event of the job becomes old. */
async function makeEventsDue(jobId: string): Promise<void> {
  await database.owner(
    `update item_jobs set reported_at = reported_at - interval '3 seconds' where job_id = $1`,
    [jobId],
  );
}

async function driveToTheEnd(claims: TestClaims, jobId: string): Promise<JobView> {
  for (let round = 0; round < 300; round += 1) {
    await call(claims, `/api/jobs/${jobId}/kickoff?durationMs=200`, {});
    const job = await jobOf(claims, jobId);
    if ((job.counts.PENDING ?? 0) + (job.counts.PROCESSING ?? 0) === 0) return job;
    await makeRetriesDue(jobId);
  }
  throw new Error('There are still open items after 300 rounds');
}

const validate = {
  processor: 'validate',
  options: { rules: [{ column: 'name', minLength: 1, required: true }] },
};
const halfEmpty = (rows: number) =>
  `name,n\n${Array.from({ length: rows }, (_, n) => `${n % 3 ? `x${n}` : ''},${n}`).join('\n')}\n`;

test('ingest and processing move their metrics: seconds, latency, items by status, pending count', async () => {
  const tenantId = await newTenant(database);
  const before = {
    ingests: await metric('sluice_ingest_seconds_count'),
    done: await metric('sluice_items_processed_total{status="DONE"}'),
    error: await metric('sluice_items_processed_total{status="ERROR"}'),
  };
  const jobId = await post({ tenantId }, { csv: halfEmpty(300), ...validate });
  expect(await metric('sluice_ingest_seconds_count')).toBe(before.ingests + 1);
  expect(await metric('sluice_db_latency_ewma_seconds')).toBeGreaterThan(0);
  // The count is kept for half a minute, so a house of its own looks afresh.
  const fresh = new Registry();
  testItemHouse(database.db, { registry: fresh });
  expect(await metric('sluice_pending_count{status="PENDING"}', fresh)).toBeGreaterThanOrEqual(300);
  await driveToTheEnd({ tenantId }, jobId);
  expect(await metric('sluice_items_processed_total{status="DONE"}')).toBe(before.done + 200);
  expect(await metric('sluice_items_processed_total{status="ERROR"}')).toBe(before.error + 100);
  const open = await metric('sluice_pending_count{status="PENDING"}', fresh);
  expect(open, 'a cached count does not ask the database').toBeGreaterThanOrEqual(300);
});

test('throttled calls and retries are counted and logged once per class, and the pace has a reason', async () => {
  const tenantId = await newTenant(database);
  const provider = await startFlakyProvider();
  try {
    provider.script(
      ...Array.from({ length: 3 }, () => ({ type: 'throttle' }) as const),
      ...Array.from({ length: 3 }, () => ({ type: 'answer', status: 500 }) as const),
    );
    // The missing one comes last: the bad answers are for the first calls.
    const csv = `sku\n${Array.from({ length: 20 }, (_, n) => `s${n}`).join('\n')}\nmissing\n`;
    const options = { request: { method: 'GET', url: `${provider.url}/items/{{sku}}` } };
    const jobId = await post({ tenantId }, { csv, processor: 'http', options });
    const before: Record<string, number> = {};
    for (const name of ['throttled', 'transient', 'not_found']) {
      before[name] = await metric(`sluice_retries_total{class="${name}"}`);
    }
    const from = logged.length;
    const job = await driveToTheEnd({ tenantId }, jobId);
    expect(job.counts).toMatchObject({ DONE: 20, NOT_FOUND: 1 });
    const { host } = provider;
    const throttled = (await registry.metrics()).match(
      /sluice_provider_throttled_total\{provider="([^"]+)"\} (\d+)/,
    );
    expect(throttled?.[1]).toContain(host.split(':')[0]);
    expect(Number(throttled?.[2])).toBe(3);
    const retries = sumOf(await eventsOf({ tenantId }, jobId), 'item.retry');
    expect(retries).toMatchObject({ transient: 3, not_found: 1 });
    expect(retries.throttled).toBeGreaterThanOrEqual(3);
    for (const [name, count] of Object.entries(retries)) {
      const total = await metric(`sluice_retries_total{class="${name}"}`);
      expect(total - (before[name] ?? 0), name).toBe(count);
    }
    const lines = logged.slice(from).filter(({ job_id }) => job_id === jobId);
    const decisions = lines.filter(({ msg }) => msg === 'items wait for another try');
    expect(new Set(decisions.map(({ retry_class }) => retry_class))).toEqual(
      new Set(['throttled', 'transient', 'not_found']),
    );
    for (const line of decisions)
      expect(line).toMatchObject({ correlation_id: jobId, items: expect.any(Number) });
    const about = logged.filter(({ job_id }) => job_id === jobId);
    for (const msg of ['a file was ingested', 'the first rows of a job are processed'])
      expect(
        about.filter((line) => line.msg === msg),
        msg,
      ).toHaveLength(1);
    expect(lines.filter(({ msg }) => msg === 'every item of the job has ended')).toHaveLength(1);
    expect(about.filter(({ correlation_id }) => correlation_id !== jobId)).toEqual([]);
    expect(job.controllers.providers).toMatchObject([{ concurrency: expect.any(Number) }]);
    expect(job.controllers.providers?.[0]?.reason).toBeTruthy();
  } finally {
    await provider.close();
  }
});

test('a job whose calls mostly fail waits before its next claim, claims less, and gives the reason', async () => {
  const tenantId = await newTenant(database);
  const provider = await startFlakyProvider();
  try {
    provider.misbehave([{ misbehaviour: { type: 'answer', status: 500 }, rate: 1 }]);
    const csv = `sku\n${Array.from({ length: 50 }, (_, n) => `s${n}`).join('\n')}\n`;
    const options = { request: { method: 'GET', url: `${provider.url}/items/{{sku}}` } };
    const jobId = await post({ tenantId }, { csv, processor: 'http', options });
    await call({ tenantId }, `/api/jobs/${jobId}/kickoff?durationMs=5000`, {});
    const { controllers, counts } = await jobOf({ tenantId }, jobId);
    expect(controllers.claim).toMatchObject({ reason: expect.stringMatching(/of the items fail/) });
    expect(controllers.claim?.spacingMs).toBeGreaterThan(0);
    expect(counts.PENDING, 'one claim was made and no second one').toBe(50);
    expect(provider.calls.length).toBeLessThan(50);
  } finally {
    await provider.close();
  }
});

test('events add up to the total however many workers share the job, and are far fewer than the items', async () => {
  const tenantId = await newTenant(database);
  const jobId = await post({ tenantId }, { csv: halfEmpty(900), ...validate });
  // As a claim leaves it; then four workers of two processes take turns at once.
  await database.owner(
    `update ingestion_jobs set status = 'running', started_at = clock_timestamp() where job_id = $1`,
    [jobId],
  );
  const small = { ...bounds, claimMin: 10, claimMax: 10, targetSliceMs: 5 };
  const houses = [0, 1].map(() => testItemHouse(database.db, { bounds: small }));
  const job = await kernelJob(tenantId, jobId);
  let turns = 0;
  const work = async (worker: number) => {
    const { pipeline } = houses[worker % 2] as ItemHouse;
    const { signal } = new AbortController();
    const turn = { job, workerId: held.kernel.membership.workerId, signal, shouldYield: () => false };
    for (; turns < 500; turns += 1) {
      const { state } = await (pipeline.takeTurn as NonNullable<Pipeline['takeTurn']>)(turn);
      if (state !== 'more') return;
      await makeEventsDue(jobId);
    }
  };
  await Promise.all([0, 1, 2, 3].map(work));
  const { counts } = await driveToTheEnd({ tenantId }, jobId);
  expect(counts).toMatchObject({ DONE: 600, ERROR: 300 });
  const events = await eventsOf({ tenantId }, jobId);
  expect(sumOf(events, 'item.processed')).toEqual({ DONE: 600, ERROR: 300 });
  expect(events.length).toBeGreaterThan(2);
  expect(events.length).toBeLessThanOrEqual(900 / 10 + 1);
});

const kernelJob = (tenantId: string, jobId: string) => getJob({ db: database.db }, { tenantId, jobId });

test('a job of many batches has one early event and one at its end when no time passes', async () => {
  const tenantId = await newTenant(database);
  const jobId = await post({ tenantId }, { csv: halfEmpty(200), ...validate });
  await driveToTheEnd({ tenantId }, jobId);
  const events = await eventsOf({ tenantId }, jobId);
  const batches = logged.filter(
    ({ msg, job_id }) => job_id === jobId && msg === 'a turn of items was committed',
  );
  const committed = batches.reduce((sum, line) => sum + Number(line.batches), 0);
  expect(committed).toBeGreaterThanOrEqual(10);
  expect(events.length).toBeLessThan(committed / 2);
  expect(sumOf(events, 'item.processed')).toEqual({ DONE: 133, ERROR: 67 });
});

test('reprocess and cancel have events too, and ended minus reset rows equal the counters', async () => {
  const tenantId = await newTenant(database);
  const me = { tenantId, role: 'member', userId: 'me' } as const;
  const jobId = await post(me, { csv: halfEmpty(60), ...validate });
  await driveToTheEnd(me, jobId);
  const skipped = await metric('sluice_items_processed_total{status="SKIPPED"}');
  await call(me, `/api/jobs/${jobId}/reprocess`, {});
  await call(me, `/api/jobs/${jobId}/cancel`, {});
  await held.kernel.cycle({ budgetMs: 10_000, tenantId });
  const { counts } = await jobOf(me, jobId);
  expect(counts).toMatchObject({ DONE: 40, SKIPPED: 20, ERROR: 0 });
  const events = await eventsOf(me, jobId);
  expect(sumOf(events, 'item.processed')).toEqual({ DONE: 40, ERROR: 20, SKIPPED: 20 });
  expect(sumOf(events, 'item.reprocessed')).toEqual({ ERROR: 20 });
  expect(await metric('sluice_items_processed_total{status="SKIPPED"}')).toBe(skipped + 20);
  // Members read the events of their own jobs and of no others.
  expect(await eventsOf({ ...me, userId: 'them' }, jobId)).toEqual([]);
  expect(await eventsOf({ tenantId }, jobId)).toHaveLength(events.length);
});

test('a server that never worked on a job shows what its workers’ controllers decided, and why', async () => {
  const tenantId = await newTenant(database);
  const jobId = await post({ tenantId }, { csv: halfEmpty(100), ...validate });
  const queued = await jobOf({ tenantId }, jobId);
  expect(queued.controllers.ingest?.reason).toBeTruthy();
  await driveToTheEnd({ tenantId }, jobId);
  const other = testItemHouse(database.db);
  const details = await other.details?.(tenantId, [await kernelJob(tenantId, jobId)]);
  const { controllers } = (details as Map<string, object>).get(jobId) as unknown as JobView;
  expect(controllers.claim).toMatchObject({ items: expect.any(Number), reason: expect.any(String) });
  expect(controllers.savedBy).toBe(held.kernel.membership.workerId);
  expect(controllers.ingest?.reason).toBe(queued.controllers.ingest?.reason);
});

test('the queue depth counts a job once all of its rows are in', async () => {
  const depth = async () => {
    const fresh = new Registry();
    installGauges(fresh, { db: database.db, logger });
    return metric('sluice_queue_depth{pipeline="items"}', fresh);
  };
  const tenantId = await newTenant(database);
  const before = await depth();
  const jobId = await post({ tenantId }, { csv: 'a\n1\n' });
  expect(await depth()).toBe(before + 1);
  await driveToTheEnd({ tenantId }, jobId);
  expect(await depth()).toBe(before);
});

test('every kind of page is timed under its own list', async () => {
  const tenantId = await newTenant(database);
  const jobId = await post({ tenantId }, { csv: 'a\n1\n2\n' });
  const paths = {
    grid: `/api/jobs/${jobId}/items`,
    keyset: `/api/jobs/${jobId}/items?statuses=PENDING`,
    pending: '/api/pending',
  };
  for (const [list, path] of Object.entries(paths)) {
    const series = `sluice_page_seconds_count{list="${list}"}`;
    const before = await metric(series);
    await call({ tenantId }, path);
    expect(await metric(series), list).toBe(before + 1);
  }
  expect(slowPageMs).toBe(500);
});

test('ingest batches shrink while inserts wait for a connection, and the log gives the reason', async () => {
  const tenantId = await newTenant(database);
  const { pool } = database.db;
  // Other tasks hold every connection of the pool, so that each insert has to queue for one.
  let isOver = false;
  const crowd = Array.from({ length: 20 }, async () => {
    while (!isOver) await database.db.tenant(tenantId, (tx) => tx.client.query('select pg_sleep(0.02)'));
  });
  const from = logged.length;
  try {
    expect(pool.driver.options.max).toBeLessThan(20);
    await post({ tenantId }, { csv: halfEmpty(3_000) });
  } finally {
    isOver = true;
    await Promise.all(crowd);
  }
  const batches = logged.slice(from).filter(({ msg }) => msg === 'a batch of rows');
  const waited = batches.filter(({ poolWaitMs }) => Number(poolWaitMs) > 0);
  expect(waited.length).toBeGreaterThan(0);
  for (const { before, next, reason } of waited) {
    expect(Number(next)).toBeLessThanOrEqual(Number(before));
    expect(reason).toMatch(/waited \d+ ms for a connection/);
  }
  const calm = logged.length;
  await post({ tenantId }, { csv: halfEmpty(3_000) });
  const sizes = logged.slice(calm).filter(({ msg }) => msg === 'a batch of rows');
  expect(sizes.every(({ poolWaitMs }) => poolWaitMs === 0)).toBe(true);
  expect(Math.max(...sizes.map(({ next }) => Number(next)))).toBeGreaterThan(
    Math.max(...waited.map(({ next }) => Number(next))),
  );
});

test('well-known columns keep their own names in SQL, in lists and on the row’s page', async () => {
  const tenantId = await newTenant(database);
  const jobId = await post({ tenantId }, { csv: 'Product Name,SKU,Note\n" Chair ",A-1,x\n,,y\n' });
  const kept = await database.owner<{ id: string; normalized_json: object | null }>(
    'select id, normalized_json from job_items where job_id = $1 order by id',
    [jobId],
  );
  expect(kept.map((row) => row.normalized_json)).toEqual([{ title: 'Chair', sku: 'A-1' }, null]);
  const row = await call<{ normalized: object; input: object; rowNo: number }>(
    { tenantId },
    `/api/jobs/${jobId}/items/${kept[0]?.id}`,
  );
  expect(row).toMatchObject({
    rowNo: 1,
    input: { 'Product Name': ' Chair ', SKU: 'A-1', Note: 'x' },
    normalized: { title: 'Chair', sku: 'A-1' },
  });
  const { data } = await call<{ data: { inputSummary: object }[] }>({ tenantId }, '/api/pending');
  expect(data[0]?.inputSummary).toMatchObject({ title: 'Chair', sku: 'A-1' });
  const them = await server.bearer({ tenantId, role: 'member', userId: 'them' });
  const hidden = await fetch(`${server.url}/api/jobs/${jobId}/items/${kept[0]?.id}`, { headers: them });
  expect(hidden.status).toBe(404);
});
