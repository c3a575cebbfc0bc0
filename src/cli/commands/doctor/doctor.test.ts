import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { useCommandLine } from '../../../../test/support/servers/command-line.ts';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { eventually } from '../../../../test/support/worlds/kernel.ts';
import { prepareTitleSearch } from '../../../ingest/catalog/matching/prepare-title-search.ts';
import { newId } from '../../../lib/ids.ts';
import type { Finding } from './checks.ts';

// Some of the commands run as separate processes.
vi.setConfig({ testTimeout: 90_000 });

const database = useDatabase();
const sluice = useCommandLine();

async function examine(
  env: Record<string, string>,
): Promise<{ code: number | null; findings: Map<string, Finding> }> {
  const { code, stdout } = await sluice.runHere(['doctor', '--json'], env);
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  return { code, findings: new Map(findings.map((finding) => [finding.check, finding])) };
}

function failures(findings: Map<string, Finding>): string[] {
  return [...findings.values()]
    .filter((finding) => finding.state === 'failed')
    .map((finding) => finding.check);
}

test('before the first start it says what to run, and creates nothing', async () => {
  const { code, stdout } = await sluice.runHere(['doctor', '--data-dir', 'not-yet', '--json']);
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  expect(findings.map(({ check, state }) => [check, state])).toEqual([
    ['configuration', 'ok'],
    ['database', 'warn'],
  ]);
  expect(findings[1]?.remedy).toContain('Run `sluice`');
  expect(code).toBe(0);
  expect(await readdir(sluice.cwd)).not.toContain('not-yet');
});

test('a database without pg_trgm gets a warning that names what it cannot do', async () => {
  const { code, findings } = await examine({ DATABASE_URL: database.ownerUrl });
  expect(findings.get('fuzzy titles')).toMatchObject({
    state: 'warn',
    message: expect.stringContaining('fuzzy_title are refused'),
    remedy: expect.stringContaining('create extension pg_trgm'),
  });
  expect(code).toBe(0);
});

test('a sound installation passes every check', async () => {
  await prepareTitleSearch(database.ownerUrl);
  const { code, findings } = await examine({
    DATABASE_URL: database.ownerUrl,
    SLUICE_JWT_SECRET: 'x'.repeat(32),
  });
  expect([...findings.values()].filter((finding) => finding.state !== 'ok')).toEqual([]);
  expect([...findings.keys()]).toEqual([
    'configuration',
    'secrets',
    'storage',
    'database',
    'migrations',
    'roles',
    'kernel roles',
    'row-level security',
    'fuzzy titles',
    'airbyte',
    'clock',
    'dead rows',
    'vacuum',
    'event log',
    'orphans',
    'counters',
    'secret hosts',
  ]);
  expect(code).toBe(0);
});

test('the readable form has one line per check and no colour codes in a pipe', async () => {
  const { stdout } = await sluice.run(['doctor'], { DATABASE_URL: database.ownerUrl });
  expect(stdout).toMatch(/^ok {5}database /m);
  expect(stdout).toMatch(/^warn {3}secrets /m);
  expect(stdout).not.toContain('\u001b');
});

test('an owner as application login fails the check of roles, with all its faults and a remedy', async () => {
  const { code, findings } = await examine({
    DATABASE_URL: database.ownerUrl,
    DATABASE_APP_URL: database.ownerUrl,
  });
  expect(code).toBe(1);
  expect(failures(findings)).toEqual(['roles']);
  const roles = findings.get('roles');
  for (const fault of ['is a superuser', 'bypasses', 'inherits', 'owns tables'])
    expect(roles?.message).toContain(fault);
  expect(roles?.remedy).toContain('DATABASE_APP_URL');
});

test('a tenant table without forced row-level security is found by name', async () => {
  await database.owner('alter table files no force row level security');
  const { code, findings } = await examine({ DATABASE_URL: database.ownerUrl });
  await database.owner('alter table files force row level security');
  expect(code).toBe(1);
  expect(failures(findings)).toEqual(['row-level security']);
  expect(findings.get('row-level security')?.message).toContain('files');
});

test('a missing migration and an unknown one get different messages', async () => {
  await database.owner('create table kept as select * from schema_migrations');
  await database.owner('delete from schema_migrations where version = 1');
  const missing = await examine({ DATABASE_URL: database.ownerUrl });
  await database.owner(
    'insert into schema_migrations select version + 900, name, checksum, state from kept where version = 1',
  );
  const unknown = await examine({ DATABASE_URL: database.ownerUrl });
  await database.owner(
    'truncate schema_migrations; insert into schema_migrations select * from kept; drop table kept',
  );
  expect(missing.findings.get('migrations')?.message).toContain('0001_tenancy');
  expect(missing.findings.get('migrations')?.remedy).toContain('sluice migrate up');
  expect(unknown.findings.get('migrations')?.message).toContain('901');
});

test('dead rows are reported by table, with the command that removes them', async () => {
  await database.owner(
    'create table bloated with (autovacuum_enabled = off) as select generate_series(1, 60000) as n',
  );
  await database.owner('delete from bloated');
  const statistics = 'select n_dead_tup::int as dead from pg_stat_user_tables where relname = $1';
  const isKnown = async () =>
    (await database.owner<{ dead: number }>(statistics, ['bloated']))[0]?.dead === 60_000;
  await eventually(isKnown, 'the statistics say so');
  const { code, findings } = await examine({ DATABASE_URL: database.ownerUrl });
  await database.owner('drop table bloated');
  expect(findings.get('dead rows')).toMatchObject({
    state: 'warn',
    message: expect.stringContaining('bloated (60000 dead, 0 living)'),
    remedy: expect.stringContaining('vacuum (analyze) bloated'),
  });
  expect(code).toBe(0);
});

test('a database that was restored is reported until the log has begun a new era', async () => {
  const other = `update event_eras set incarnation = 'another:cluster' where era = (select max(era) from event_eras)`;
  await database.owner(other);
  const { code, findings } = await examine({ DATABASE_URL: database.ownerUrl });
  expect(findings.get('event log')).toMatchObject({
    state: 'warn',
    message: expect.stringContaining('restored or recovered'),
  });
  expect(code).toBe(0);
  await database.owner('select ensure_event_era()');
  const later = await examine({ DATABASE_URL: database.ownerUrl });
  expect(later.findings.get('event log')).toMatchObject({
    state: 'ok',
    message: expect.stringContaining('another cluster'),
  });
});

test('whatever holds vacuum back is named, with the command that ends it', async () => {
  await database.owner(`select pg_create_physical_replication_slot('forgotten')`);
  const { findings } = await examine({ DATABASE_URL: database.ownerUrl });
  await database.owner(`select pg_drop_replication_slot('forgotten')`);
  expect(findings.get('vacuum')).toMatchObject({
    state: 'warn',
    message: expect.stringContaining('replication slot forgotten that nobody reads'),
    remedy: expect.stringContaining(`pg_drop_replication_slot('forgotten')`),
  });
});

test('rows without an owner are found in every table that no foreign key guards', async () => {
  const tenantId = await newTenant(database);
  const one = [tenantId, newId()];
  await database.owner(
    `insert into staging_id_resolution (tenant_id, upload_id, entity_type, external_id, production_id)
     values ($1, $2, 'ad', 'x', $2)`,
    one,
  );
  await database.owner(
    `insert into scrape_references (tenant_id, reference_id, source, external_id, url, url_key, title, content,
       payload_hash, scrape_run_id, changed_by)
     select $1, gen_random_uuid(), s, n, 'https://example.com', convert_to(s, 'UTF8'), 't', 'c', repeat('0', 64), $2, $2
       from unnest(array['gone', 'lost']) s, generate_series(1, 3) n`,
    one,
  );
  const { findings } = await examine({ DATABASE_URL: database.ownerUrl });
  await database.owner('delete from staging_id_resolution where tenant_id = $1', [tenantId]);
  await database.owner('delete from scrape_references where tenant_id = $1', [tenantId]);
  expect(findings.get('orphans')).toMatchObject({ state: 'warn' });
  expect(findings.get('orphans')?.message).toContain('staging_id_resolution (of 1 that is gone)');
  expect(findings.get('orphans')?.message).toContain('scrape_references (of 2 that are gone)');
});

test('secrets from before they had hosts are counted, with what to do about them', async () => {
  const tenantId = await newTenant(database);
  await database.owner(
    `insert into tenant_secrets (tenant_id, name, encrypted, updated_by, hosts)
     values ($1, 'old', 'x', 'u', '{}'), ($1, 'new', 'x', 'u', '{api.example.com}')`,
    [tenantId],
  );
  const { findings } = await examine({ DATABASE_URL: database.ownerUrl });
  await database.owner('delete from tenant_secrets where tenant_id = $1', [tenantId]);
  expect(findings.get('secret hosts')).toMatchObject({
    state: 'warn',
    message: 'Secrets without hosts, which cannot be used: 1 (tenants: 1)',
  });
});

test('counters that differ from the rows are reported with both figures', async () => {
  const tenantId = await newTenant(database);
  const jobId = newId();
  await database.owner(
    `insert into ingestion_jobs (tenant_id, job_id, pipeline, subject_id, correlation_id, created_by, status,
       finished_at)
     values ($1, $2, 'items', 's', 'c', 'u', 'success', now())`,
    [tenantId, jobId],
  );
  await database.owner(
    `insert into item_jobs (tenant_id, job_id, job_type, processor, user_id, total, done)
     values ($1, $2, 'csv', 'noop', 'u', 3, 3)`,
    [tenantId, jobId],
  );
  const { findings } = await examine({ DATABASE_URL: database.ownerUrl });
  await database.owner('delete from ingestion_jobs where tenant_id = $1', [tenantId]);
  expect(findings.get('counters')).toMatchObject({
    state: 'warn',
    message: expect.stringContaining(`rows of job ${jobId}: 3/0/0/3/0/0/0 stated, 0/0/0/0/0/0/0 counted`),
    remedy: expect.stringContaining('how to correct them'),
  });
});

test('with the application login alone everything can be checked too', async () => {
  const { code, findings } = await examine({ DATABASE_APP_URL: database.appUrl });
  expect(failures(findings)).toEqual([]);
  expect(code).toBe(0);
});

test('bad configuration, storage and database each fail their own check', async () => {
  const configuration = await examine({ PORT: 'x' });
  expect(failures(configuration.findings)).toEqual(['configuration']);
  await writeFile(path.join(sluice.cwd, 'a-file'), '');
  const rest = await examine({
    DATABASE_URL: 'postgres://o:pw@127.0.0.1:1/x',
    SLUICE_DATA_DIR: 'a-file/below',
  });
  expect(failures(rest.findings)).toEqual(['storage', 'database']);
  expect(rest.code).toBe(1);
  for (const finding of rest.findings.values())
    if (finding.state === 'failed') expect(finding.remedy).not.toBe('');
});

test('a server that accepts no writes fails the check of the database, with what to do', async () => {
  const name = new URL(database.ownerUrl).pathname.slice(1);
  const set = (value: string) =>
    database.owner(`alter database ${name} set default_transaction_read_only = ${value}`);
  await set('on');
  try {
    const { code, findings } = await examine({ DATABASE_URL: database.ownerUrl });
    expect(findings.get('database')).toMatchObject({
      state: 'failed',
      message: expect.stringContaining('accepts no writes'),
      remedy: expect.stringContaining('Let DATABASE_URL lead to the primary'),
    });
    expect(code).toBe(1);
  } finally {
    await set('off');
  }
});
