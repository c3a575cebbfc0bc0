import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Kernel } from '../../src/kernel/jobs/kernel.ts';
import { finishSharedJob } from '../../src/kernel/jobs/shared/shared-store.ts';
import { countJobsUpTo, listJobs, resumeJob } from '../../src/kernel/jobs/store.ts';
import type { jobStatuses, Pipeline } from '../../src/kernel/jobs/types.ts';
import { fanOutOnce } from '../../src/kernel/webhooks/deliveries/fan-out.ts';
import { migrateDown, migrateUp } from '../../src/lib/postgres/migrate.ts';
import { queryOnce } from '../support/fakes/postgres-server.ts';
import { eventually, testKernel } from '../support/worlds/kernel.ts';
import { probePipeline, probeTable } from '../support/worlds/probe-pipeline.ts';
import { type ArrangedEndpoint, arrangeEndpoints, arrangeJobs, type Expected, tenants } from './arranged.ts';
import { Installation, versionBefore } from './installation.ts';
import { arrangeNewLog, arrangeNewTables } from './new-version.ts';
import { eraseTenant } from './old-erasure.ts';
import { fanOutOnce as oldFanOutOnce, readEvents as oldReadEvents } from './old-events.ts';
import { OldProgram } from './old-program.ts';
import { countOpen, expectDeliveries, expectEvents, expectJobs } from './recount.ts';

const script = new URL('../../scripts/pages/schema.mjs', import.meta.url).href;
const { dumpSchema }: { dumpSchema(ownerUrl: string): Promise<string> } = await import(script);

let installation: Installation;
let old: OldProgram;
let arranged: Expected;
let endpoints: ArrangedEndpoint[];
let schemaBefore: string;

beforeAll(async () => {
  installation = await Installation.create();
  schemaBefore = await dumpSchema(installation.ownerUrl);
  old = new OldProgram(installation.connect('sluice-old'));
  await installation.query(
    `insert into tenants (tenant_id, name) select name, name from unnest($1::text[]) t (name)`,
    [tenants],
  );
  arranged = await arrangeJobs(installation, { liveWorker: old.workerId, count: 8 });
  await installation.query(
    `update events set occurred_at = now() - interval '40 days' where event_id % 3 = 0`,
  );
  endpoints = await arrangeEndpoints(installation);
}, 120_000);
afterAll(() => installation.remove());

/** A shared job that is finished by its first turn. */
const sharedPipeline: Pipeline = {
  ...probePipeline({}, 'shared'),
  takeTurn: async ({ job }) => {
    await installation.db.tenant(job.tenantId, (tx) => finishSharedJob(tx, job, {}));
    return { processed: 1, state: 'finished' };
  },
};

function newKernel(): Kernel {
  return testKernel(installation, {
    pipelines: [probePipeline(), probePipeline({}, 'probe_b'), sharedPipeline],
    leaseMs: 5_000,
    heartbeatMs: 1_000,
  });
}

/** Resumes what is paused, and works until nothing is open. */
async function workOff(): Promise<void> {
  const kernel = newKernel();
  await kernel.start({ work: true });
  for (const tenantId of tenants) {
    for (const { jobId } of await listAll(tenantId, 'paused')) {
      await installation.db.tenant(tenantId, (tx) => resumeJob(tx, { tenantId, jobId, from: ['paused'] }));
    }
  }
  await eventually(async () => (await countOpen(installation)) === 0, 'every job has ended', 30_000);
  await kernel.stop(5_000);
  while (await fanOutOnce(installation.db));
}

function listAll(tenantId: string, status: (typeof jobStatuses)[number]) {
  const filter = { tenantId, status, after: null, limit: 100_000 };
  return installation.db.read(tenantId, (tx) => listJobs(tx, filter));
}

async function expectListsToAddUp(): Promise<void> {
  const counted = await installation.query<{ tenantId: string; status: string; count: number }>(
    `select tenant_id as "tenantId", status, count(*)::integer as count from ingestion_jobs group by 1, 2`,
  );
  for (const { tenantId, status, count } of counted) {
    const filter = { tenantId, status: status as (typeof jobStatuses)[number], limit: 100_000 };
    expect(await listAll(tenantId, filter.status)).toHaveLength(count);
    expect(await installation.db.read(tenantId, (tx) => countJobsUpTo(tx, filter))).toBe(count);
  }
  // As its owner, who is no superuser, with a statement of docs/operating.md.
  const seen = await queryOnce(
    installation.ownerUrl,
    `select error_code, count(*)::integer as count
       from ingestion_jobs
      where status = 'dead_letter'
      group by error_code`,
  );
  const dead = counted.filter(({ status }) => status === 'dead_letter');
  expect(seen).toEqual([
    { error_code: 'probe_failed', count: dead.reduce((sum, row) => sum + row.count, 0) },
  ]);
}

test('the schema is upgraded under programs of the version before, and nothing is lost', async () => {
  await old.start();
  await setTimeout(1_000);
  const startedAt = performance.now();
  const { version } = await migrateUp(installation.ownerUrl);
  const migratedMs = performance.now() - startedAt;
  expect(version).toBeGreaterThan(versionBefore);
  // They go on, also beside a program of the new version.
  await setTimeout(1_000);
  await queryOnce(installation.ownerUrl, probeTable);
  const beside = newKernel();
  await beside.start({ work: true });
  for (let step = 0; step < 20; step += 1) {
    await fanOutOnce(installation.db);
    await setTimeout(50);
  }
  await old.stop();
  await beside.stop(5_000);
  expect(old.surprises).toEqual([]);
  console.log(JSON.stringify({ migratedMs, ...old.figures, acknowledged: old.acknowledged.size }));
  expect(old.figures.longestMs).toBeLessThan(30_000);

  await workOff();
  await expectJobs(installation, { ends: old.promised(arranged), known: old.acknowledged.keys() });
  await expectEvents(installation, old.acknowledged.keys());
  expect(await expectDeliveries(installation, endpoints)).toBeGreaterThan(1_000);
  await expectListsToAddUp();
});

test('what the new version wrote is taken down, and programs of the version before go on with it', async () => {
  const again = new OldProgram(installation.connect('sluice-old-again'));
  const jobs = new Map([...arranged, ...old.promised(arranged)]);
  for (const [id, end] of await arrangeNewTables(installation, again.workerId)) jobs.set(id, end);
  await arrangeNewLog(installation);
  await queryOnce(installation.ownerUrl, 'drop table probe_effects');
  expect((await migrateDown(installation.ownerUrl, { to: versionBefore })).version).toBe(versionBefore);
  expect(await dumpSchema(installation.ownerUrl)).toBe(schemaBefore);

  await again.start();
  await setTimeout(1_000);
  again.isDispatching = false;
  await setTimeout(1_000);
  await again.resumeAll();
  await eventually(
    async () => (await countOpen(installation)) === 0,
    'the old version ends every job',
    30_000,
  );
  await again.stop();
  expect(again.surprises).toEqual([]);
  while (await oldFanOutOnce(installation.db));
  const known = [...old.acknowledged.keys(), ...again.acknowledged.keys()];
  await expectJobs(installation, { ends: again.promised(jobs), known });
  await expectEvents(installation, known);
  // A cursor of the version before cannot say all that a snapshot says: it goes back to the first event that was not
  // read. What comes again is left out here, because each delivery is still there.
  await expectDeliveries(installation, endpoints);
  await expectOldReaders();
});

/** A reader of the version before finds every event, in its order. */
async function expectOldReaders(): Promise<void> {
  for (const tenantId of tenants) {
    const found = await installation.db.read(tenantId, (tx) =>
      oldReadEvents(tx, { tenantId, after: null, limit: 1_000_000 }),
    );
    const all = await installation.query('select event_id from events where tenant_id = $1', [tenantId]);
    expect(found.length).toBe(all.length);
  }
}

test('a database that was taken down is upgraded again under load', async () => {
  const third = new OldProgram(installation.connect('sluice-old-third'));
  await third.start();
  await migrateUp(installation.ownerUrl);
  await third.stop();
  await queryOnce(installation.ownerUrl, probeTable);
  expect(third.surprises).toEqual([]);
  await workOff();
  const known = [...old.acknowledged.keys(), ...third.acknowledged.keys()];
  await expectJobs(installation, { ends: third.promised(arranged), known });
  await expectEvents(installation, third.acknowledged.keys());
  await expectDeliveries(installation, endpoints);
  await expectListsToAddUp();
});

test('a program of the version before that erases a tenant removes nothing of other tenants', async () => {
  const count = async () =>
    installation.query<{ name: string; tenantId: string; count: number }>(
      `select 'jobs' as name, tenant_id as "tenantId", count(*)::integer as count from ingestion_jobs group by 2
       union all
       select 'events', tenant_id, count(*)::integer from events group by 2
       order by 1, 2`,
    );
  await installation.query('select move_ended_jobs(100000)');
  await installation.query('vacuum ingestion_jobs');
  await arrangeJobs(installation, { liveWorker: old.workerId, count: 8 });
  const atSamePlace = await installation.query(
    `select from only ingestion_jobs j join ingestion_jobs_ended e on e.ctid = j.ctid
      where e.tenant_id = 'borg' and j.tenant_id <> 'borg'`,
  );
  expect(atSamePlace.length).toBeGreaterThan(0);
  const before = await count();
  await eraseTenant(installation.db, 'borg');
  expect(await count()).toEqual(before.filter(({ tenantId }) => tenantId !== 'borg'));
});
