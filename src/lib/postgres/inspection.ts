import type pg from 'pg';
import { withClient } from './client.ts';
import { toDatabaseError } from './db-errors.ts';
import { groupRoles } from './roles.ts';

/** What an operator's check-up looks at, read from the catalog with whatever login is given. */
export interface ServerFacts {
  versionNumber: number;
  version: string;
  /** A replica, or a server whose transactions are read-only by default. */
  isReadOnly: boolean;
  /** The database's clock minus this process's, taken in the middle of the round trip. */
  clockDifferenceMs: number;
}

export interface LoginFacts {
  login: string;
  isSuperuser: boolean;
  bypassesRowSecurity: boolean;
  inherits: boolean;
  ownedTables: string[];
  /** Which of Sluice's group roles it may step into. */
  memberOf: string[];
}

export interface TenantTable {
  name: string;
  isEnabled: boolean;
  isForced: boolean;
  policies: number;
}

/** One connection for several questions; an unreachable server is reported as such. */
export async function withConnection<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const limits = { connectionTimeoutMillis: 5000, query_timeout: 10_000 };
  try {
    return await withClient({ connectionString: url, application_name: 'sluice-doctor', ...limits }, work);
  } catch (error) {
    throw toDatabaseError(error);
  }
}

export async function readServerFacts(client: pg.Client): Promise<ServerFacts> {
  const before = Date.now();
  const { rows } = await client.query<{
    number: string;
    version: string;
    is_read_only: boolean;
    now_ms: string;
  }>(
    `select current_setting('server_version_num') as number,
            current_setting('server_version') as version,
            current_setting('transaction_read_only') = 'on' as is_read_only,
            extract(epoch from clock_timestamp()) * 1000 as now_ms`,
  );
  const middle = (before + Date.now()) / 2;
  const row = rows[0];
  return {
    versionNumber: Number(row?.number),
    version: row?.version ?? 'unknown',
    isReadOnly: row?.is_read_only ?? false,
    clockDifferenceMs: Math.round(Number(row?.now_ms) - middle),
  };
}

export async function readLoginFacts(client: pg.Client): Promise<LoginFacts> {
  const { rows } = await client.query<LoginFacts>(
    `select r.rolname as "login",
            r.rolsuper as "isSuperuser",
            r.rolbypassrls as "bypassesRowSecurity",
            r.rolinherit as "inherits",
            array(select c.relname::text
                    from pg_class c
                   where c.relowner = r.oid
                     and c.relkind in ('r', 'p')
                   order by 1
                   limit 20) as "ownedTables",
            array(select known.rolname::text
                    from pg_roles known
                   where known.rolname = any($1)
                     and pg_has_role(r.oid, known.oid, 'member')
                   order by 1) as "memberOf"
       from pg_roles r
      where r.rolname = session_user`,
    [groupRoles],
  );
  const facts = rows[0];
  if (!facts) throw new Error('The login that is connected is not in pg_roles');
  return facts;
}

export async function listTenantTables(client: pg.Client): Promise<TenantTable[]> {
  const { rows } = await client.query<TenantTable>(
    `select c.relname as "name",
            c.relrowsecurity as "isEnabled",
            c.relforcerowsecurity as "isForced",
            (select count(*)::int from pg_policy p where p.polrelid = c.oid) as "policies"
       from pg_class c
       join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
      where c.relnamespace = 'public'::regnamespace
        and c.relkind in ('r', 'p')
      order by c.relname`,
  );
  return rows;
}
