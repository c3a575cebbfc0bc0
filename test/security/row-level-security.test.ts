import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { appLogin, ensureRoles, groupRoles, kernelLogin, tenantRoles } from '../../src/lib/postgres/roles.ts';
import { quoteIdentifier } from '../../src/lib/postgres/sql.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { signatureFor } from '../support/worlds/tenant-signature.ts';
import { Tally } from './tally.ts';

const database = useDatabase();
const tally = new Tally('isolation of tables', 1_000);
const victim = 'the victim';
const intruder = 'the intruder';

interface TenantTable {
  name: string;
  isPartition: boolean;
  enabled: boolean;
  forced: boolean;
  policies: number;
  owner: string;
}

interface Column {
  name: string;
  type: string;
}

const signatures = new Map<string, string>();
let tables: TenantTable[] = [];
/** Nobody but the owner may use them: rows are reached through their table. */
let partitions: TenantTable[] = [];
let app: pg.Client;
/** As the owner, on one connection: it is asked thousands of times. */
let owner: pg.Client;

beforeAll(async () => {
  // As every start does: rights on a database do not come with the template that it is cloned from.
  await ensureRoles(database.ownerUrl);
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  const found = await database.owner<TenantTable>(`
    select c.relname as name, c.relispartition as "isPartition", c.relrowsecurity as enabled,
           c.relforcerowsecurity as forced,
           (select count(*)::int from pg_policy p where p.polrelid = c.oid) as policies,
           pg_get_userbyid(c.relowner) as owner
      from pg_class c
     where c.relnamespace = 'public'::regnamespace
       and c.relkind in ('r', 'p')
       and exists (select from pg_attribute a
                    where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped)
     order by c.relname`);
  tables = found.filter(({ isPartition }) => !isPartition);
  partitions = found.filter(({ isPartition }) => isPartition);
  await dropConstraints();
  for (const { name } of tables) {
    await seed(name, victim);
    await seed(name, intruder);
  }
  for (const tenantId of [victim, intruder]) {
    signatures.set(tenantId, await signatureFor(database, tenantId));
  }
  app = new pg.Client({ connectionString: database.appUrl });
  await app.connect();
});

afterAll(async () => {
  await app.end();
  await owner.end();
});

/** The database is this file's own: without checks, foreign keys and triggers any row of the right types will do. */
async function dropConstraints(): Promise<void> {
  await database.owner(`
    do $$ declare k record; begin
      for k in select conrelid::regclass as "table", conname from pg_constraint
                where connamespace = 'public'::regnamespace and contype in ('c', 'f') and conparentid = 0 loop
        execute format('alter table %s drop constraint if exists %I', k."table", k.conname);
      end loop;
      for k in select oid::regclass as "table" from pg_class
                where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') loop
        execute format('alter table %s disable trigger user', k."table");
      end loop;
    end $$`);
}

async function writableColumns(table: string): Promise<Column[]> {
  const { rows } = await owner.query<Column>(
    `select a.attname as name, format_type(a.atttypid, a.atttypmod) as type
       from pg_attribute a
      where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped
        and a.attgenerated = '' and a.attidentity <> 'a'
        and (a.attname = 'tenant_id' or (a.attnotnull and not a.atthasdef and a.attidentity = ''))
      order by a.attnum`,
    [table],
  );
  return rows;
}

async function insertStatement(table: string, tenantId: string): Promise<string> {
  const columns = await writableColumns(table);
  const values = columns.map(({ name, type }) => {
    return name === 'tenant_id' ? pg.escapeLiteral(tenantId) : sampleOf(type, `${tenantId} ${name}`);
  });
  const names = columns.map(({ name }) => quoteIdentifier(name));
  return `insert into ${quoteIdentifier(table)} (${names.join(', ')}) values (${values.join(', ')})`;
}

async function seed(table: string, tenantId: string): Promise<void> {
  await database.owner(await insertStatement(table, tenantId));
}

function sampleOf(type: string, text: string): string {
  if (type.endsWith('[]')) return "'{}'";
  if (type === 'uuid') return 'gen_random_uuid()';
  if (type === 'bytea') return `convert_to(${pg.escapeLiteral(text)}, 'UTF8')`;
  if (/^timestamp|^date/.test(type)) return 'now()';
  if (/^(smallint|integer|bigint|numeric|double|real)/.test(type)) return '1';
  if (type === 'boolean') return 'false';
  if (type === 'xid8') return "'3'";
  if (/^jsonb?$/.test(type)) return "'{}'";
  return `${pg.escapeLiteral(text)}::${type}`;
}

/** All rows of the victim, so that any change shows. */
async function victimRows(table: string): Promise<string[]> {
  const { rows } = await owner.query<{ row: string }>(
    `select t::text as row from ${quoteIdentifier(table)} t where t.tenant_id = $1 order by 1`,
    [victim],
  );
  return rows.map(({ row }) => row);
}

interface Attempt {
  role: string | null;
  /** Undefined: never set in this session's transaction. */
  tenantId?: string | undefined;
  /** The tenant that the signature is for, if it is another one. */
  signedFor?: string | undefined;
  statement: string;
}

/** Rows that the statement returned or touched; a refusal of the right kind counts as none. */
async function attempt({ role, tenantId, signedFor, statement }: Attempt): Promise<number> {
  await app.query('begin');
  try {
    if (role !== null) await app.query(`set local role ${role}`);
    if (tenantId !== undefined) {
      const context =
        "select set_config('app.tenant_id', $1, true), set_config('app.tenant_signature', $2, true)";
      await app.query(context, [tenantId, signatures.get(signedFor ?? tenantId) ?? '']);
    }
    const result = await app.query(statement);
    await app.query('commit');
    return result.rowCount ?? 0;
  } catch (error) {
    await app.query('rollback');
    if ((error as { code?: string }).code === '42501') return 0;
    throw error;
  }
}

const strangers: { name: string; tenantId: string | undefined; signedFor?: string }[] = [
  { name: 'no tenant set', tenantId: undefined },
  { name: 'an empty tenant', tenantId: '' },
  { name: 'another tenant', tenantId: intruder },
  { name: 'the victim’s name and another tenant’s signature', tenantId: victim, signedFor: intruder },
  { name: 'the victim’s name and no signature', tenantId: victim, signedFor: 'nobody' },
];

async function statementsAgainst(table: string): Promise<Record<string, string>> {
  const name = quoteIdentifier(table);
  return {
    select: `select tenant_id from ${name} where tenant_id = '${victim}'`,
    insert: await insertStatement(table, victim),
    update: `update ${name} set tenant_id = tenant_id where tenant_id = '${victim}'`,
    delete: `delete from ${name} where tenant_id = '${victim}'`,
  };
}

/** Tables and views that belong to no tenant, and why nothing of a tenant can be read out of them. */
const tenantless: Record<string, string> = {
  dependency_rate_limits:
    'what the installation’s own services said of their limits, for the kernel role alone',
  ended_job_tables: 'names of tables of ended jobs and their periods, for the kernel role alone',
  erased_tenants: 'hashes only',
  event_eras: 'when the event log began anew, for the kernel role alone',
  event_partitions: 'ranges of event ids, for the kernel role alone',
  office_candidates: 'processes that would take over an office, for the kernel role alone',
  offices: 'which process holds an office, for the kernel role alone',
  own_pipelines: 'pipelines that users define, and when their schedules come due, for the kernel role alone',
  rate_limits: 'moments under keys, for the kernel role alone',
  schema_migrations: 'which migrations ran',
  tenant_signing: 'the key that signs tenants, for the kernel role alone',
  upkeep_tasks: 'when upkeep ran, over all tenants',
  workers: 'processes',
};

test('every table and view has a tenant_id or is listed as having none', async () => {
  const rows = await database.owner<{ name: string }>(
    `select c.relname as name
       from pg_class c
      where c.relnamespace = 'public'::regnamespace
        and c.relkind in ('r', 'p', 'v', 'm', 'f')
      order by c.relname`,
  );
  const guarded = new Set([...tables, ...partitions].map(({ name }) => name));
  const rest = rows.map(({ name }) => name).filter((name) => !guarded.has(name));
  expect(rest).toEqual(Object.keys(tenantless));
});

test('tables without a tenant are closed to every role that works for a tenant', async () => {
  const readable = await database.owner<{ name: string; role: string }>(
    `select t.name, r.role
       from unnest($1::text[]) t(name), unnest($2::text[]) r(role)
      where has_table_privilege(r.role, quote_ident(t.name), 'select, insert, update, delete')
      order by t.name, r.role`,
    [Object.keys(tenantless), tenantRoles],
  );
  expect(readable).toEqual([]);
});

test('partitions are closed to every role', async () => {
  expect(partitions.length).toBeGreaterThan(0);
  const usable = await database.owner<{ name: string; role: string }>(
    `select t.name, r.role
       from unnest($1::text[]) t(name), unnest($2::text[]) r(role)
      where has_table_privilege(r.role, quote_ident(t.name), 'select, insert, update, delete, truncate')`,
    [partitions.map(({ name }) => name), groupRoles],
  );
  expect(usable).toEqual([]);
});

describe('every table with a tenant_id', () => {
  test('is found in the catalog, with at least those of tenancy, requests and files', () => {
    expect(tables.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'api_keys',
        'files',
        'idempotency_keys',
        'login_links',
        'sessions',
        'tenants',
        'users',
        'workspaces',
      ]),
    );
  });

  test('has row-level security enabled and forced, policies, and another owner than the application', () => {
    for (const { name, enabled, forced, policies, owner } of [...tables, ...partitions]) {
      expect({ name, enabled, forced, hasPolicies: policies > 0 }).toEqual({
        name,
        enabled: true,
        forced: true,
        hasPolicies: true,
      });
      expect([appLogin, ...groupRoles]).not.toContain(owner);
    }
  });

  for (const role of tenantRoles) {
    test.each(strangers)(
      `shows and changes nothing as ${role} with $name`,
      async ({ tenantId, signedFor }) => {
        for (const { name } of tables) {
          const before = await victimRows(name);
          expect(before.length).toBeGreaterThan(0);
          for (const [verb, statement] of Object.entries(await statementsAgainst(name))) {
            const touched = await attempt({ role, tenantId, signedFor, statement });
            tally.equal({ name, verb, touched }, { name, verb, touched: 0 });
          }
          tally.equal(await victimRows(name), before);
        }
      },
    );
  }

  test('does not let a tenant move its own rows to another tenant', async () => {
    for (const { name } of tables) {
      const before = await victimRows(name);
      const statement = `update ${quoteIdentifier(name)} set tenant_id = '${victim}' where tenant_id = '${intruder}'`;
      tally.equal(await attempt({ role: 'sluice_tenant', tenantId: intruder, statement }), 0);
      tally.equal(await victimRows(name), before);
    }
  });

  test('shows a tenant its own rows wherever the role may read, so the tests above could fail', async () => {
    const seen: string[] = [];
    for (const { name } of tables) {
      const statement = `select tenant_id from ${quoteIdentifier(name)}`;
      if ((await attempt({ role: 'sluice_tenant', tenantId: victim, statement })) > 0) seen.push(name);
    }
    expect(seen).toEqual(
      expect.arrayContaining(['tenants', 'workspaces', 'users', 'api_keys', 'idempotency_keys', 'files']),
    );
  });
});

describe.each([appLogin, kernelLogin])('the login %s', (login) => {
  test('is not a superuser, bypasses no policy, inherits nothing and can make no roles or databases', async () => {
    const rows = await database.owner(
      `select rolsuper, rolbypassrls, rolinherit, rolcreaterole, rolcreatedb, rolreplication
         from pg_roles where rolname = $1`,
      [login],
    );
    expect(rows).toEqual([
      {
        rolsuper: false,
        rolbypassrls: false,
        rolinherit: false,
        rolcreaterole: false,
        rolcreatedb: false,
        rolreplication: false,
      },
    ]);
  });

  test('owns nothing, and neither do its group roles', async () => {
    const owned = await database.owner(
      `select 'relation' as kind, relname as name from pg_class where pg_get_userbyid(relowner) = any($1)
       union all select 'function', proname from pg_proc where pg_get_userbyid(proowner) = any($1)
       union all select 'schema', nspname from pg_namespace where pg_get_userbyid(nspowner) = any($1)
       union all select 'database', datname from pg_database where pg_get_userbyid(datdba) = any($1)`,
      [[login, ...groupRoles]],
    );
    expect(owned).toEqual([]);
  });
});

describe('the logins and roles', () => {
  test('the application login may step into the roles of tenants only, the kernel’s into its own', async () => {
    const rows = await database.owner<{ login: string; roles: string[] }>(
      `select l.rolname as login, array_agg(g.rolname::text order by g.rolname) as roles
         from pg_auth_members m
         join pg_roles l on l.oid = m.member
         join pg_roles g on g.oid = m.roleid
        where l.rolname = any($1)
        group by l.rolname
        order by l.rolname`,
      [[appLogin, kernelLogin]],
    );
    expect(rows).toEqual([
      { login: appLogin, roles: [...tenantRoles].sort() },
      { login: kernelLogin, roles: ['sluice_kernel'] },
    ]);
    await expect(app.query('set role sluice_kernel')).rejects.toThrow(/permission denied to set role/);
    await expect(app.query('set session authorization sluice_kernel_login')).rejects.toThrow(
      /permission denied/,
    );
  });

  test('neither login nor any role may make temporary tables', async () => {
    await expect(app.query('create temporary table campaigns (tenant_id text)')).rejects.toThrow(
      /permission denied to create temporary tables/,
    );
    const rows = await database.owner<{ role: string }>(
      `select r.role from unnest($1::text[]) r (role) where has_database_privilege(r.role, current_database(), 'temp')`,
      [[appLogin, kernelLogin, ...groupRoles]],
    );
    expect(rows).toEqual([]);
  });

  test('every function with the owner’s rights has a fixed path, and every fixed path ends with pg_temp', async () => {
    const rows = await database.owner<{ name: string; isDefiner: boolean; path: string | null }>(
      `select p.proname as name, p.prosecdef as "isDefiner",
              (select split_part(c, '=', 2) from unnest(p.proconfig) c where c like 'search_path=%') as path
         from pg_proc p
        where p.pronamespace = 'public'::regnamespace
          and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
        order by p.proname`,
    );
    const pinned = rows.filter(({ path }) => path !== null);
    expect(pinned.length).toBeGreaterThan(10);
    expect(pinned.filter(({ path }) => !path?.endsWith(', pg_temp'))).toEqual([]);
    expect(rows.filter(({ isDefiner, path }) => isDefiner && path === null)).toEqual([]);
  });

  test('no group role is a superuser, bypasses policies or can log in', async () => {
    const rows = await database.owner(
      `select rolname from pg_roles where rolname = any($1) and (rolsuper or rolbypassrls or rolcanlogin)`,
      [groupRoles],
    );
    expect(rows).toEqual([]);
  });

  test('the application login sees and changes nothing before it sets a role, even with the tenant set', async () => {
    for (const { name } of tables) {
      const before = await victimRows(name);
      for (const [verb, statement] of Object.entries(await statementsAgainst(name))) {
        const touched = await attempt({ role: null, tenantId: victim, statement });
        tally.equal({ name, verb, touched }, { name, verb, touched: 0 });
      }
      tally.equal(await victimRows(name), before);
    }
  });
});

test('the tests above made at least 1,000 assertions', () => {
  expect(tally.report()).toBeGreaterThanOrEqual(tally.quota);
});
