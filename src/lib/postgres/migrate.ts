import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type pg from 'pg';
import { bug, defineErrors, invalid, transient } from '../errors.ts';
import { packageDir } from '../package-dir.ts';
import { withOwner } from './client.ts';
import { runConcurrently } from './concurrent-migration.ts';
import { quoteLiteral } from './sql.ts';

/**
 * Numbered migrations (`0001_name.up.sql`, `0001_name.down.sql`), each in one transaction under a transaction-level
 * advisory lock: any number of processes may start at once, and a pooler in transaction mode is no obstacle. A line
 * `-- next transaction` ends a transaction and begins another, so that a long check does not keep a table locked. What
 * comes before the last of them may run again after an interruption and must then change nothing. A migration whose
 * first line is `-- optional: <feature>` may be taken down alone; that is remembered, so that the next start does not
 * undo the operator's decision. One whose first line is `-- concurrently` builds indexes on tables in use, outside of a
 * transaction.
 */
export interface Migration {
  version: number;
  name: string;
  feature: string | null;
  up: string;
  down: string;
  checksum: string;
  /** Its statements run one by one, outside of a transaction. */
  isConcurrent: boolean;
}

export interface MigrationReport {
  applied: string[];
  reverted: string[];
  version: number;
}

export const migrationErrors = defineErrors({
  schema_unknown: bug(
    'The database was migrated by a newer Sluice',
    'Upgrade this process, or revert the newer migrations with the newer version first.',
    503,
  ),
  schema_outdated: transient(
    'The database lacks migrations that this version needs',
    'Run `sluice migrate` with the owner’s DATABASE_URL.',
  ),
  migration_changed: bug(
    'An applied migration was edited afterwards',
    'Restore the file as it was applied and put the change into a new migration.',
  ),
  migration_failed: bug(
    'A migration failed and was rolled back',
    'Fix the cause and run `sluice migrate` again; nothing of the failed migration was kept.',
  ),
  migration_unknown: invalid(
    'There is no such migration',
    'See `sluice migrate status` for versions and optional features.',
  ),
});

const migrationsDir = path.join(packageDir, 'migrations');

export async function readMigrations(dir: string = migrationsDir): Promise<Migration[]> {
  const files = (await readdir(dir)).filter((file) => file.endsWith('.up.sql')).sort();
  return Promise.all(files.map((file) => readMigration(dir, file)));
}

/** Brings the schema up to date. Optional features that were taken down stay down unless `features` names them. */
export async function migrateUp(
  ownerUrl: string,
  options: { dir?: string; features?: string[] } = {},
): Promise<MigrationReport> {
  const migrations = await readMigrations(options.dir);
  return withOwner(ownerUrl, async (client) => {
    await ensureBookkeeping(client);
    const applied: string[] = [];
    const wanted = options.features ?? [];
    for (const migration of migrations) {
      if (wanted.includes(migration.feature ?? '')) await clearDroppedFeature(client, migration);
      if (await applyOne(client, { migration, known: migrations, wanted })) {
        applied.push(labelOf(migration));
      }
    }
    await showRowsToOwner(client);
    return { applied, reverted: [], version: await readVersion(client) };
  });
}

/**
 * Somebody may have dropped the tables of an optional feature by hand, so that the bookkeeping still calls it up. What
 * is left of it goes too, and it counts as taken down: then it can be applied as a whole.
 */
async function clearDroppedFeature(client: pg.Client, migration: Migration): Promise<void> {
  const tables = [...migration.up.matchAll(/^create table (\w+)/gm)].map(([, name]) => `public.${name}`);
  await inLockedTransaction(client, async () => {
    const row = (await readRows(client)).find(({ version }) => version === migration.version);
    if (row?.state !== 'up') return;
    const { rows } = await client.query<{ name: string }>(
      'select name from unnest($1::text[]) name where to_regclass(name) is null',
      [tables],
    );
    if (rows.length === 0) return;
    await named(migration, () => client.query(migration.down));
    await record(client, migration, 'down');
  });
}

/**
 * The policy by which the owner reads all rows names the owner, so after a change of owner, or a restore under another
 * one, it has to name the new one.
 */
async function showRowsToOwner(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ table: string }>(`
    select t.polrelid::regclass::text as "table"
      from pg_policy t
      join pg_class c on c.oid = t.polrelid
     where t.polname = 'tenant_rows'
       and to_regprocedure('show_rows_to_owner(regclass)') is not null
       and pg_has_role(c.relowner, 'usage')
       and not exists (select
                         from pg_policy o
                        where o.polrelid = c.oid
                          and o.polname = 'owner_rows'
                          and o.polroles = array[c.relowner])`);
  for (const { table } of rows) {
    await inLockedTransaction(client, () => client.query('select show_rows_to_owner($1)', [table]));
  }
}

/** Takes down one optional feature, or every migration above `to` (default: only the newest one). */
export async function migrateDown(
  ownerUrl: string,
  options: { dir?: string; to?: number; feature?: string } = {},
): Promise<MigrationReport> {
  const migrations = await readMigrations(options.dir);
  return withOwner(ownerUrl, async (client) => {
    await ensureBookkeeping(client);
    const reverted: string[] = [];
    for (const migration of await chooseDown(client, migrations, options)) {
      if (await revertOne(client, migration, options.feature !== undefined))
        reverted.push(labelOf(migration));
    }
    return { applied: [], reverted, version: await readVersion(client) };
  });
}

export interface SchemaState {
  version: number;
  needed: number;
  missing: string[];
  unknown: number[];
  /** Optional features that an operator took down. */
  downFeatures: string[];
}

/** Compares the database with this program's migrations; works for any login that may read the bookkeeping. */
export async function readSchemaState(
  query: (text: string) => Promise<{ rows: { version: number; state: string }[] }>,
  migrations: Migration[],
): Promise<SchemaState> {
  const rows = (await query('select version, state from schema_migrations order by version')).rows;
  const stateOf = new Map(rows.map((row) => [row.version, row.state]));
  const known = new Set(migrations.map((migration) => migration.version));
  const isDown = (m: Migration) => m.feature !== null && stateOf.get(m.version) === 'down';
  return {
    version: Math.max(0, ...rows.filter((row) => row.state === 'up').map((row) => row.version)),
    needed: Math.max(0, ...migrations.map((migration) => migration.version)),
    missing: migrations.filter((m) => stateOf.get(m.version) !== 'up' && !isDown(m)).map(labelOf),
    unknown: rows.filter((row) => row.state === 'up' && !known.has(row.version)).map((row) => row.version),
    downFeatures: migrations.filter(isDown).map((migration) => migration.feature ?? ''),
  };
}

/** A process must not work on a schema that it does not know. */
export function assertUsable(state: SchemaState): void {
  if (state.unknown.length > 0) {
    throw migrationErrors.raise.schema_unknown(
      `The database has migration ${Math.max(...state.unknown)}, this version of Sluice knows up to ${state.needed}`,
    );
  }
  if (state.missing.length > 0) {
    throw migrationErrors.raise.schema_outdated(
      `The database is at migration ${state.version}, this version needs ${state.needed}; ` +
        `missing: ${state.missing.join(', ')}`,
    );
  }
}

async function readMigration(dir: string, file: string): Promise<Migration> {
  const match = /^(\d{4})_(.+)\.up\.sql$/.exec(file);
  if (!match?.[1] || !match[2]) {
    throw migrationErrors.raise.migration_unknown(`${file} is not named like 0001_name.up.sql`);
  }
  const up = await readFile(path.join(dir, file), 'utf8');
  const down = await readFile(path.join(dir, file.replace('.up.sql', '.down.sql')), 'utf8');
  return {
    version: Number(match[1]),
    name: match[2],
    feature: /^-- optional: (\w+)/.exec(up)?.[1] ?? null,
    up,
    down,
    checksum: createHash('sha256').update(up).digest('hex'),
    isConcurrent: up.startsWith('-- concurrently\n'),
  };
}

function labelOf(migration: Migration): string {
  return `${String(migration.version).padStart(4, '0')}_${migration.name}`;
}

/** Any fixed number; it only has to differ from other programs' in the same database. */
const migrationLock = 735_110_442;
const concurrentLock = migrationLock + 1;

const maxTries = 60;
/** Whoever waits for a table's lock makes everybody after it wait: a migration gives up soon, and tries again. */
const lockTimeout = '2s';

/** Beside work in progress a migration may want tables in another order than the work does: then it begins anew. */
async function inLockedTransaction<T>(client: pg.Client, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await tryLockedTransaction(client, work);
    } catch (error) {
      if (!isLockTrouble(error) || attempt === maxTries) throw error;
      await setTimeout(250);
    }
  }
}

/** A deadlock, or a lock that did not come in time. */
function isLockTrouble(error: unknown): boolean {
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  return code === '40P01' || code === '55P03' || (cause instanceof Error && isLockTrouble(cause));
}

async function tryLockedTransaction<T>(client: pg.Client, work: () => Promise<T>): Promise<T> {
  await client.query(
    `begin; set local statement_timeout = 0; set local lock_timeout = 0;
     select pg_advisory_xact_lock(${migrationLock}); set local lock_timeout = '${lockTimeout}'`,
  );
  try {
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}

async function ensureBookkeeping(client: pg.Client): Promise<void> {
  await inLockedTransaction(client, async () => {
    await client.query(`
      create table if not exists schema_migrations (
        version integer primary key,
        name text not null,
        checksum text not null,
        state text not null check (state in ('up', 'down')),
        changed_at timestamptz not null default clock_timestamp()
      );
      grant select on schema_migrations to sluice_kernel`);
  });
}

async function applyOne(
  client: pg.Client,
  { migration, known, wanted }: { migration: Migration; known: Migration[]; wanted: string[] },
): Promise<boolean> {
  const isWanted = async () => {
    const rows = await readRows(client);
    refuseNewerSchema(rows, known);
    return mustRun(migration, { rows, wanted });
  };
  if (migration.isConcurrent) return applyConcurrently(client, migration, isWanted);
  const parts = migration.up.split(/^-- next transaction$/m);
  for (const part of parts) {
    const isApplied = await inLockedTransaction(client, async () => {
      if (!(await isWanted())) return false;
      await named(migration, () => client.query(part));
      if (part === parts.at(-1)) await record(client, migration, 'up');
      return true;
    });
    if (!isApplied) return false;
  }
  return true;
}

/** Whoever comes second waits for the first to end, and repeats what is safe to repeat. */
async function applyConcurrently(
  client: pg.Client,
  migration: Migration,
  isWanted: () => Promise<boolean>,
): Promise<boolean> {
  if (!(await inLockedTransaction(client, isWanted))) return false;
  await named(migration, () => runConcurrently(client, { text: migration.up, lockKey: concurrentLock }));
  return inLockedTransaction(client, async () => {
    if (!(await isWanted())) return false;
    await record(client, migration, 'up');
    return true;
  });
}

function mustRun(
  migration: Migration,
  { rows, wanted }: { rows: MigrationRow[]; wanted: string[] },
): boolean {
  const row = rows.find((candidate) => candidate.version === migration.version);
  if (row?.state === 'up') {
    if (row.checksum === migration.checksum) return false;
    throw migrationErrors.raise.migration_changed(
      `Migration ${labelOf(migration)} differs from what was applied`,
    );
  }
  return row?.state !== 'down' || migration.feature === null || wanted.includes(migration.feature);
}

async function revertOne(client: pg.Client, migration: Migration, remember: boolean): Promise<boolean> {
  return inLockedTransaction(client, async () => {
    const row = (await readRows(client)).find((candidate) => candidate.version === migration.version);
    if (row?.state !== 'up') return false;
    await named(migration, () => client.query(migration.down));
    if (remember) await record(client, migration, 'down');
    else await client.query('delete from schema_migrations where version = $1', [migration.version]);
    return true;
  });
}

interface MigrationRow {
  version: number;
  checksum: string;
  state: string;
}

async function readRows(client: pg.Client): Promise<MigrationRow[]> {
  return (await client.query<MigrationRow>('select version, checksum, state from schema_migrations')).rows;
}

async function readVersion(client: pg.Client): Promise<number> {
  const rows = await readRows(client);
  return Math.max(0, ...rows.filter((row) => row.state === 'up').map((row) => row.version));
}

function refuseNewerSchema(rows: MigrationRow[], known: Migration[]): void {
  const versions = new Set(known.map((migration) => migration.version));
  const unknown = rows.filter((row) => row.state === 'up' && !versions.has(row.version));
  if (unknown.length === 0) return;
  const newest = Math.max(...unknown.map((row) => row.version));
  throw migrationErrors.raise.schema_unknown(
    `The database has migration ${newest}, this version of Sluice knows up to ${Math.max(...versions)}`,
  );
}

/** Says which migration failed. */
async function named(migration: Migration, run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    throw migrationErrors.raise.migration_failed(
      `Migration ${labelOf(migration)} failed: ${(error as Error).message}`,
      { cause: error },
    );
  }
}

async function record(client: pg.Client, migration: Migration, state: 'up' | 'down'): Promise<void> {
  await client.query(`
    insert into schema_migrations (version, name, checksum, state)
    values (${migration.version}, ${quoteLiteral(migration.name)}, '${migration.checksum}', '${state}')
    on conflict (version) do update
       set checksum = excluded.checksum, state = excluded.state, changed_at = clock_timestamp()`);
}

async function chooseDown(
  client: pg.Client,
  migrations: Migration[],
  options: { to?: number; feature?: string },
): Promise<Migration[]> {
  if (options.feature !== undefined) {
    const chosen = migrations.filter((migration) => migration.feature === options.feature);
    if (chosen.length > 0) return chosen.reverse();
    const names = migrations.flatMap((migration) => migration.feature ?? []);
    throw migrationErrors.raise.migration_unknown(
      `There is no optional feature ${options.feature}; there are: ${names.join(', ') || 'none'}`,
    );
  }
  const version = await readVersion(client);
  const to = options.to ?? version - 1;
  return migrations.filter((migration) => migration.version > to).reverse();
}
