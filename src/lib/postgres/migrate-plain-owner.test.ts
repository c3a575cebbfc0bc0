import { copyFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  queryOnce,
  startTestServer,
  type TestServer,
  withDatabase,
} from '../../../test/support/fakes/postgres-server.ts';
import { packageDir } from '../package-dir.ts';
import { withClient, withOwner } from './client.ts';
import { migrateUp } from './migrate.ts';
import { appUrlFor, ensureLogins, ensureRoles, kernelUrlFor } from './roles.ts';

// Row-level security is forced on the owner too, unless it is a superuser: a migration that forgets it changes no row.
let server: TestServer;
let ownerUrl: string;
let dir: string;
beforeAll(async () => {
  server = await startTestServer();
  const name = 'plain';
  await queryOnce(server.ownerUrl, `create role plain_owner login createrole password 'plain'`);
  await queryOnce(server.ownerUrl, `create database ${name} owner plain_owner`);
  const url = new URL(server.ownerUrl);
  url.username = 'plain_owner';
  url.password = 'plain';
  url.pathname = `/${name}`;
  ownerUrl = url.href;
  dir = await mkdtemp(path.join(tmpdir(), 'sluice-migrations-'));
  for (const file of await readdir(path.join(packageDir, 'migrations'))) {
    if (file < '0020') await copyFile(path.join(packageDir, 'migrations', file), path.join(dir, file));
  }
});
afterAll(async () => {
  await server.stop();
  await rm(dir, { recursive: true, force: true });
});

/** As the program of that version wrote it: for its tenant, which is what the policies ask for. */
const firstKey = '019a0000-0000-7000-8000-000000000001';
const secondKey = '019a0000-0000-7000-8000-000000000002';
const arrange = `
  begin;
  set local app.tenant_id = 'acme';
  insert into tenants (tenant_id, name) values ('acme', 'Acme');
  insert into users (tenant_id, user_id, role) values ('acme', 'olga', 'operator');
  insert into api_keys (tenant_id, key_id, name, role, key_hash, key_hint, created_by)
  values ('acme', '${firstKey}', 'first', 'admin', '\\x01', 'slk_1', 'olga'),
         ('acme', '${secondKey}', 'second', 'member', '\\x02', 'slk_2', 'api_key:${firstKey}');
  commit`;

test('an owner who is no superuser migrates an installation with data to the newest version', async () => {
  await ensureRoles(ownerUrl);
  expect((await migrateUp(ownerUrl, { dir })).version).toBe(19);
  await withOwner(ownerUrl, (client) => client.query(arrange));
  await migrateUp(ownerUrl);
  const superuserUrl = withDatabase(server.ownerUrl, new URL(ownerUrl).pathname.slice(1));
  const seen = await queryOnce(
    superuserUrl,
    `select k.name, k.user_id as "userId", u.operator_since is not null as "isOperator"
       from api_keys k
       join users u on u.tenant_id = k.tenant_id and u.user_id = k.user_id
      order by k.name`,
  );
  expect(seen).toEqual([
    { name: 'first', userId: 'olga', isOperator: true },
    { name: 'second', userId: 'olga', isOperator: true },
  ]);
  const unforced = await queryOnce(
    superuserUrl,
    `select relname from pg_class
      where relnamespace = 'public'::regnamespace and relrowsecurity and not relforcerowsecurity`,
  );
  expect(unforced).toEqual([]);
});

const jobId = '019a0000-0000-7000-8000-000000000003';
const deadId = '019a0000-0000-7000-8000-000000000004';
/** A job that has run for three hours, and a dead letter. */
const arrangeJobs = `
  insert into ingestion_jobs (tenant_id, job_id, pipeline, subject_id, connector_id, status, started_at, created_by,
                              correlation_id)
  values ('acme', '${jobId}', 'sync', 's1', 'c1', 'running', now() - interval '3 hours', 'olga', 'x');
  insert into ingestion_jobs (tenant_id, job_id, pipeline, subject_id, connector_id, status, error_code, started_at,
                              finished_at, created_by, correlation_id)
  values ('acme', '${deadId}', 'sync', 's2', 'c2', 'dead_letter', 'auth_failed', now() - interval '1 hour', now(),
          'olga', 'x')`;

/** As the troubleshooting guide of operators has them. */
const stuckJobs = `
  SELECT job_id, tenant_id, connector_id, started_at
  FROM ingestion_jobs
  WHERE status = 'running'
    AND started_at < NOW() - INTERVAL '2 hours'`;
const deadLetters = `
  SELECT error_code, COUNT(*) as count
  FROM ingestion_jobs
  WHERE status = 'dead_letter'
  GROUP BY error_code
  ORDER BY count DESC`;

const superuserUrl = () => withDatabase(server.ownerUrl, 'plain');

test('an owner who is no superuser reads all rows, and the logins of the application none', async () => {
  await queryOnce(superuserUrl(), arrangeJobs);
  expect(await queryOnce(ownerUrl, stuckJobs)).toMatchObject([{ job_id: jobId, connector_id: 'c1' }]);
  expect(await queryOnce(ownerUrl, deadLetters)).toEqual([{ error_code: 'auth_failed', count: '1' }]);
  await ensureLogins(ownerUrl);
  const appUrl = appUrlFor(ownerUrl);
  for (const url of [appUrl, kernelUrlFor(appUrl)]) {
    await expect(queryOnce(url, stuckJobs)).rejects.toMatchObject({ code: '42501' });
  }
  const asTenant = (client: pg.Client, table: string) =>
    client.query(`begin; set local role sluice_tenant; select tenant_id from ${table}`);
  const seen = await withClient({ connectionString: appUrl }, (client) => asTenant(client, 'ingestion_jobs'));
  expect([seen].flat().at(-1)?.rows).toEqual([]);
});

test('an owner who is no superuser reads ended jobs of every period, and tenants’ logins none of them', async () => {
  const closedId = '019a0000-0000-7000-8000-000000000005';
  const insertEnded = (id: string) => `
    insert into ingestion_jobs_ended (tenant_id, job_id, pipeline, subject_id, connector_id, status, error_code,
                                      started_at, finished_at, created_by, correlation_id)
    values ('acme', '${id}', 'sync', 's', 'c', 'dead_letter', 'timed_out', now(), now(), 'olga', 'x')`;
  await queryOnce(superuserUrl(), insertEnded(closedId));
  await queryOnce(superuserUrl(), 'select rotate_ended_jobs()');
  await queryOnce(superuserUrl(), insertEnded('019a0000-0000-7000-8000-000000000006'));
  expect(await queryOnce(ownerUrl, deadLetters)).toEqual([
    { error_code: 'timed_out', count: '2' },
    { error_code: 'auth_failed', count: '1' },
  ]);
  const tables = await queryOnce<{ name: string }>(
    superuserUrl(),
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'ingestion_jobs'::regclass`,
  );
  expect(tables).toHaveLength(2);
  for (const name of ['ingestion_jobs', ...tables.map((table) => table.name)]) {
    const seenByOwner = await queryOnce(ownerUrl, `select tenant_id from ${name}`);
    expect(seenByOwner.length, name).toBeGreaterThan(0);
    const seen = await withClient({ connectionString: appUrlFor(ownerUrl) }, (client) =>
      client.query(`begin; set local role sluice_tenant; select tenant_id from ${name}`),
    );
    expect([seen].flat().at(-1)?.rows, name).toEqual([]);
  }
});

test('every tenant table shows its rows to its owner, to read only', async () => {
  const tables = await queryOnce<{ name: string; policy: string | null }>(
    superuserUrl(),
    `select c.relname as name, o.polcmd::text || ' ' || (o.polroles = array[c.relowner])::text as policy
       from pg_policy t
       join pg_class c on c.oid = t.polrelid
       left join pg_policy o on o.polrelid = c.oid and o.polname = 'owner_rows'
      where t.polname = 'tenant_rows'`,
  );
  expect(tables.length).toBeGreaterThan(30);
  expect(tables.filter(({ policy }) => policy !== 'r true')).toEqual([]);
  await queryOnce(ownerUrl, 'delete from ingestion_jobs');
  expect(await queryOnce(ownerUrl, stuckJobs)).toHaveLength(1);
});

test('the statements of docs/operating.md run as written, as an owner who is no superuser', async () => {
  const page = await readFile(path.join(packageDir, 'docs/operating.md'), 'utf8');
  const blocks = [...page.matchAll(/```sql\n(.*?)```/gs)].map(([, text]) => text ?? '');
  const statements = blocks
    .filter((text) => !text.includes('create role'))
    .map((text) => text.replaceAll('…', jobId));
  expect(statements.length).toBeGreaterThanOrEqual(3);
  for (const text of statements) {
    const results = await withOwner(ownerUrl, (client) => client.query(text));
    for (const { command, rows } of [results].flat()) {
      if (command === 'SELECT') expect(rows, text).not.toEqual([]);
    }
  }
});

test('a new owner sees the rows after the next migration run', async () => {
  await queryOnce(superuserUrl(), `create role heir login createrole password 'heir' in role plain_owner`);
  await queryOnce(superuserUrl(), 'reassign owned by plain_owner to heir');
  const heirUrl = new URL(ownerUrl);
  heirUrl.username = 'heir';
  heirUrl.password = 'heir';
  await queryOnce(superuserUrl(), 'revoke plain_owner from heir');
  expect(await queryOnce(heirUrl.href, stuckJobs)).toEqual([]);
  await migrateUp(heirUrl.href);
  expect(await queryOnce(heirUrl.href, stuckJobs)).toHaveLength(1);
});
