import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, expect, test } from 'vitest';
import { useServer } from '../../../test/support/servers/server.ts';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { eventually, useKernel } from '../../../test/support/worlds/kernel.ts';
import { saveFile } from '../../../test/support/worlds/saved-file.ts';
import { createFiles } from '../files/backends.ts';
import { dispatch } from '../jobs/dispatch/service.ts';
import { eraseTenant } from './erasure.ts';

const database = useDatabase();
const held = useKernel(database);
const server = useServer(database);
const dataDir = await mkdtemp(path.join(tmpdir(), 'sluice-erasure-'));
const files = createFiles({ filesBackend: 'local', dataDir });
afterAll(() => rm(dataDir, { recursive: true, force: true }));

async function furnish(tenantId: string): Promise<string> {
  await server.app.inject({ url: '/api/me', headers: await server.bearer({ tenantId }) });
  await dispatch(held.kernel, tenantId, { pipeline: 'probe', subjectId: 's', maxRetries: 1, createdBy: 'u' });
  await held.kernel.cycle({ budgetMs: 60_000, tenantId });
  const upload = {
    tenantId,
    content: Readable.from(['bytes']),
    maxBytes: 100,
    name: 'n',
    mediaType: 't',
    createdBy: 'u',
  };
  return saveFile({ db: database.db, files }, upload, async (_tx, file) => file.storageKey);
}

async function rowsOf(tenantId: string): Promise<number> {
  const tables = await database.owner<{ name: string }>(
    `select table_name as name from information_schema.columns
      where column_name = 'tenant_id' and table_schema = 'public'`,
  );
  let rows = 0;
  for (const { name } of tables) {
    const [row] = await database.owner<{ count: string }>(
      `select count(*) as count from ${name} where tenant_id = $1`,
      [tenantId],
    );
    rows += Number(row?.count);
  }
  return rows;
}

test('erasing a tenant removes every row and file of it, and nothing of anybody else’s', async () => {
  const [gone, neighbour] = [await newTenant(database), await newTenant(database)];
  const goneFile = await furnish(gone);
  const neighbourFile = await furnish(neighbour);
  const before = await rowsOf(neighbour);
  const report = await eraseTenant({ db: database.db, files }, gone);
  expect(report.erased).toMatchObject({ tenants: 1, ingestion_jobs: 1, events: 3, files: 1, users: 1 });
  expect(report).toMatchObject({ remaining: {}, filesRemoved: 1 });
  expect(await rowsOf(gone)).toBe(0);
  expect(await files.exists(goneFile)).toBe(false);
  expect(await rowsOf(neighbour)).toBe(before);
  expect(await files.exists(neighbourFile)).toBe(true);
});

test('an erased tenant does not come back with an old token, and erasing is the operator’s', async () => {
  const tenantId = await newTenant(database);
  const headers = await server.bearer({ tenantId });
  const url = `/api/tenants/${tenantId}`;
  expect((await server.app.inject({ method: 'DELETE', url, headers })).statusCode).toBe(403);
  const operator = await server.bearer({ tenantId: await newTenant(database), role: 'operator' });
  const erased = await server.app.inject({ method: 'DELETE', url, headers: operator });
  expect(erased.json()).toMatchObject({ tenant_id: tenantId, remaining: {} });
  expect((await server.app.inject({ url: '/api/me', headers })).json()).toMatchObject({
    code: 'tenant_erased',
  });
  expect((await server.app.inject({ method: 'DELETE', url, headers: operator })).statusCode).toBe(404);
});

test('a slice in flight of an erased tenant commits nothing', async () => {
  const tenantId = await newTenant(database);
  const job = await dispatch(held.kernel, tenantId, {
    pipeline: 'probe',
    subjectId: 'slow',
    maxRetries: 1,
    createdBy: 'u',
    payload: { steps: [{ do: 'work', ms: 60_000 }] },
  });
  const driving = held.kernel
    .kickOff({ tenantId, jobId: job.jobId, durationMs: 1_000 })
    .catch((error: unknown) => error);
  const leased = 'select from ingestion_jobs where job_id = $1 and leased_by is not null';
  await eventually(
    async () => (await database.owner(leased, [job.jobId])).length > 0,
    'the slice is in flight',
  );
  await eraseTenant({ db: database.db, files }, tenantId);
  expect(await driving).toMatchObject({ code: 'job_not_found' });
  expect(await rowsOf(tenantId)).toBe(0);
});

test('a job that ends while its tenant is erased is erased too', async () => {
  const tenantId = await newTenant(database);
  await furnish(tenantId);
  // Appends an ended job at the last moment, as a settlement does that commits then.
  await database.owner(`create schema late;
    create table late.jobs as select * from ingestion_jobs where tenant_id = '${tenantId}';
    create function end_late() returns trigger language plpgsql security definer as $$
      begin
        insert into ingestion_jobs_ended select * from late.jobs;
        return old;
      end $$;
    create trigger end_late before delete on tenants for each row execute function end_late()`);
  const report = await eraseTenant({ db: database.db, files }, tenantId);
  await database.owner(
    'drop trigger end_late on tenants; drop function end_late(); drop schema late cascade',
  );
  expect(report.remaining).toEqual({});
});
