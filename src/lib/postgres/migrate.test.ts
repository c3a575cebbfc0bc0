import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, expect, inject, test } from 'vitest';
import { createDatabase, queryOnce, withDatabase } from '../../../test/support/fakes/postgres-server.ts';
import { useCommandLine } from '../../../test/support/servers/command-line.ts';
import { eventually } from '../../../test/support/worlds/kernel.ts';
import { newId } from '../ids.ts';
import { assertUsable, migrateDown, migrateUp, readMigrations, readSchemaState } from './migrate.ts';
import { ensureRoles } from './roles.ts';

const sluice = useCommandLine();
const serverUrl = inject('serverUrl');
const root = path.join(import.meta.dirname, '../../..');
const databases: string[] = [];
const directories: string[] = [];

afterEach(async () => {
  for (const dir of directories.splice(0)) await rm(dir, { recursive: true, force: true });
});
afterAll(async () => {
  for (const name of databases) await queryOnce(serverUrl, `drop database if exists ${name} with (force)`);
});

async function emptyDatabase(): Promise<string> {
  const name = `empty_${newId().replaceAll('-', '')}`;
  databases.push(name);
  await createDatabase(serverUrl, name);
  return withDatabase(serverUrl, name);
}

/** The real migrations, and one of an optional feature on top. */
async function withFeature(): Promise<string> {
  const dir = await mkdtemp(path.join(tmpdir(), 'sluice-migrations-'));
  directories.push(dir);
  await cp(path.join(root, 'migrations'), dir, { recursive: true });
  await writeFile(path.join(dir, '9001_extra.up.sql'), '-- optional: extra\ncreate table extra (id int);\n');
  await writeFile(path.join(dir, '9001_extra.down.sql'), 'drop table extra;\n');
  return dir;
}

async function stateOf(url: string, dir?: string) {
  const read = async (text: string) => ({
    rows: await queryOnce<{ version: number; state: string }>(url, text),
  });
  return readSchemaState(read, await readMigrations(dir));
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

/** Until a session of this database waits for a lock with such a statement. */
function untilWaiting(url: string, statement: string): Promise<void> {
  const isWaiting = async () => {
    const waiting = await queryOnce(
      url,
      `select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like $1`,
      [statement],
    );
    return waiting.length > 0;
  };
  return eventually(isWaiting, `${statement} waits`);
}

test('ten processes that start at once on an empty database migrate it exactly once', async () => {
  const url = await emptyDatabase();
  const runs = await Promise.all(
    Array.from({ length: 10 }, () => sluice.run(['migrate', 'up', '--json'], { DATABASE_URL: url })),
  );
  expect(runs.map(({ code, stderr }) => (code === 0 ? 'ok' : stderr))).toEqual(Array(10).fill('ok'));
  const applied = runs.flatMap(({ stdout }) => (JSON.parse(stdout) as { applied: string[] }).applied);
  const names = (await readMigrations()).map(
    ({ version, name }) => `${String(version).padStart(4, '0')}_${name}`,
  );
  expect(applied.sort()).toEqual(names);
  assertUsable(await stateOf(url));
}, 120_000);

test('all the way down leaves no table but the bookkeeping, and up again works', async () => {
  const url = await emptyDatabase();
  await ensureRoles(url);
  await migrateUp(url);
  await migrateDown(url, { to: 0 });
  const left = await queryOnce<{ name: string }>(
    url,
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'S', 'v')
     union all select proname from pg_proc where pronamespace = 'public'::regnamespace`,
  );
  expect(left.map(({ name }) => name)).toEqual(['schema_migrations']);
  await migrateUp(url);
  assertUsable(await stateOf(url));
});

test('an optional feature that was taken down stays down at the next start, until somebody asks for it', async () => {
  const url = await emptyDatabase();
  const dir = await withFeature();
  await ensureRoles(url);
  await migrateUp(url, { dir });
  expect((await migrateDown(url, { dir, feature: 'extra' })).reverted).toEqual(['9001_extra']);
  expect((await migrateUp(url, { dir })).applied).toEqual([]);
  const state = await stateOf(url, dir);
  expect(state).toMatchObject({ missing: [], downFeatures: ['extra'] });
  assertUsable(state);
  expect((await migrateUp(url, { dir, features: ['extra'] })).applied).toEqual(['9001_extra']);
});

test('a migration that was edited after it was applied is refused by name', async () => {
  const url = await emptyDatabase();
  const dir = await withFeature();
  await ensureRoles(url);
  await migrateUp(url, { dir });
  const file = path.join(dir, '0003_files.up.sql');
  await writeFile(file, `${await readFile(file, 'utf8')}\n-- one more line\n`);
  await expect(migrateUp(url, { dir })).rejects.toMatchObject({
    code: 'migration_changed',
    message: expect.stringContaining('0003_files'),
  });
});

test('a failing migration leaves nothing of itself, and says which one it was', async () => {
  const url = await emptyDatabase();
  const dir = await withFeature();
  await writeFile(path.join(dir, '9002_broken.up.sql'), 'create table half (id int);\nselect 1 / 0;\n');
  await writeFile(path.join(dir, '9002_broken.down.sql'), 'drop table half;\n');
  await ensureRoles(url);
  await expect(migrateUp(url, { dir })).rejects.toMatchObject({
    code: 'migration_failed',
    message: expect.stringContaining('9002_broken'),
  });
  expect(await queryOnce(url, `select to_regclass('half') as half`)).toEqual([{ half: null }]);
});

test('a program does not work on a schema that is newer than it knows, nor on one that lacks something', async () => {
  const url = await emptyDatabase();
  const dir = await withFeature();
  await ensureRoles(url);
  await migrateUp(url, { dir });
  await expect(migrateUp(url)).rejects.toMatchObject({ code: 'schema_unknown' });
  expect(() =>
    assertUsable({ version: 9001, needed: 5, missing: [], unknown: [9001], downFeatures: [] }),
  ).toThrow(/has migration 9001, this version of Sluice knows up to 5/);
  expect(() =>
    assertUsable({ version: 2, needed: 5, missing: ['0003_files'], unknown: [], downFeatures: [] }),
  ).toThrow(/needs 5; missing: 0003_files/);
});

test('a migration that meets work in progress in the wrong order begins anew and comes through', async () => {
  const url = await emptyDatabase();
  await ensureRoles(url);
  await migrateUp(url);
  const dir = await withFeature();
  await writeFile(
    path.join(dir, '9002_wide.up.sql'),
    `alter table ingestion_jobs add column wide text; select pg_advisory_xact_lock(1);
     alter table job_items add column wide text;`,
  );
  await writeFile(path.join(dir, '9002_wide.down.sql'), 'alter table job_items drop column wide;');
  const [gate, rival] = await Promise.all([connected(url), connected(url)]);
  try {
    // A session looks for a circle once. The migration closes it, so it is the one that finds it and is the victim: the
    // rival, who waits already, looks only after a minute.
    await gate.query('select pg_advisory_lock(1)');
    await rival.query("set deadlock_timeout = '60s'; begin; lock table job_items in row exclusive mode");
    const migrating = migrateUp(url, { dir });
    await untilWaiting(url, '%add column wide%');
    const working = rival.query('lock table ingestion_jobs in row exclusive mode; commit');
    await untilWaiting(url, 'lock table ingestion_jobs %');
    await gate.query('select pg_advisory_unlock(1)');
    await Promise.all([working, migrating]);
  } finally {
    await Promise.all([gate.end(), rival.end()]);
  }
  expect(await queryOnce(url, 'select wide from job_items')).toEqual([]);
}, 60_000);
