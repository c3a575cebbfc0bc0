import type pg from 'pg';
import { quoteIdentifier, quoteLiteral } from '../../../lib/postgres/sql.ts';

/** A login for BI tools, as the owner of the database sees it. */
export interface BiLogin {
  tenantId: string;
  login: string;
  description: string;
  connectionLimit: number;
  createdAt: Date;
}

export interface NewBiLogin {
  tenantId: string;
  login: string;
  description: string;
  /** What the server stores of the password. */
  verifier: string;
  connectionLimit: number;
  timeoutSeconds: number;
}

export async function hasTenant(client: pg.Client, tenantId: string): Promise<boolean> {
  const { rowCount } = await client.query('select 1 from tenants where tenant_id = $1', [tenantId]);
  return rowCount === 1;
}

/** The role and the tenant that it belongs to: both or neither. */
export async function createLogin(client: pg.Client, made: NewBiLogin): Promise<void> {
  const role = quoteIdentifier(made.login);
  const seconds = `${Math.trunc(made.timeoutSeconds)}s`;
  await inTransaction(client, async () => {
    // The owner is bound by row-level security as well, unless it is a superuser.
    await client.query(`select set_config('app.tenant_id', $1, true)`, [made.tenantId]);
    await client.query('insert into bi_logins (tenant_id, role_name, description) values ($1, $2, $3)', [
      made.tenantId,
      made.login,
      made.description,
    ]);
    await client.query(
      `create role ${role} login noinherit nocreatedb nocreaterole
         connection limit ${Math.trunc(made.connectionLimit)} password ${quoteLiteral(made.verifier)}`,
    );
    const settings = {
      search_path: 'sluice_bi',
      default_transaction_read_only: 'on',
      statement_timeout: seconds,
      idle_in_transaction_session_timeout: seconds,
      lock_timeout: '5s',
    };
    for (const [name, value] of Object.entries(settings)) {
      await client.query(`alter role ${role} set ${name} = ${quoteLiteral(value)}`);
    }
  });
}

export async function listLogins(client: pg.Client, tenantId: string | undefined): Promise<BiLogin[]> {
  const { rows } = await client.query<BiLogin>(
    `select l.tenant_id as "tenantId", l.role_name as login, l.description, r.rolconnlimit as "connectionLimit",
            l.created_at as "createdAt"
       from bi_logins l
       join pg_roles r on r.rolname = l.role_name
      where $1::text is null or l.tenant_id = $1
      order by l.tenant_id, l.created_at, l.role_name
      limit 1000`,
    [tenantId ?? null],
  );
  return rows;
}

/** The tenant of a login; null when this database knows no such login. */
export async function findLoginTenant(client: pg.Client, login: string): Promise<string | null> {
  const { rows } = await client.query<{ tenantId: string }>(
    'select tenant_id as "tenantId" from bi_logins where role_name = $1',
    [login],
  );
  return rows[0]?.tenantId ?? null;
}

/** First the rows are out of reach, also for open connections; then these are ended, and the role goes. */
export async function removeLogin(
  client: pg.Client,
  { login, tenantId }: { login: string; tenantId: string },
): Promise<void> {
  const role = quoteIdentifier(login);
  await inTransaction(client, async () => {
    await client.query(`select set_config('app.tenant_id', $1, true)`, [tenantId]);
    // Without the right to log in, no connection can come between its end and that of the role.
    await client.query(`alter role ${role} nologin`);
    await client.query('delete from bi_logins where tenant_id = $1 and role_name = $2', [tenantId, login]);
  });
  // Who creates a role may administer it; to end its connections, one has to be a member.
  await client.query(`grant ${role} to current_user`);
  await client.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [login]);
  await client.query(`drop role ${role}`);
}

/**
 * Everybody may create large objects, whatever they may read; only a superuser can change that. Returns whether it is
 * changed: a plain owner cannot.
 */
export async function forbidLargeObjects(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ isSuperuser: boolean }>(
    'select rolsuper as "isSuperuser" from pg_roles where rolname = current_user',
  );
  if (rows[0]?.isSuperuser !== true) return false;
  await client.query(`
    do $$
    declare
      v_function regprocedure;
    begin
      for v_function in
        select p.oid
          from pg_proc p
         where p.pronamespace = 'pg_catalog'::regnamespace
           and p.proname in ('lo_creat', 'lo_create', 'lo_from_bytea', 'lo_put', 'lowrite', 'lo_import')
      loop
        execute format('revoke execute on function %s from public', v_function);
      end loop;
    end
    $$`);
  return true;
}

async function inTransaction(client: pg.Client, work: () => Promise<void>): Promise<void> {
  await client.query('begin');
  try {
    await work();
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}
