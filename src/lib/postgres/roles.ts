import { createHmac } from 'node:crypto';
import type pg from 'pg';
import { defineErrors, forbidden } from '../errors.ts';
import { withClient, withOwner } from './client.ts';
import { quoteIdentifier, quoteLiteral } from './sql.ts';

/**
 * The database roles. They are cluster-wide, so they are made here, idempotently, and not in a numbered migration.
 * `sluice_app` is what every pool logs in as: no superuser, no BYPASSRLS, owner of nothing, and NOINHERIT before any
 * grant, because an inheriting login would get the kernel role's policies without stepping into that role.
 */
export const appLogin = 'sluice_app';

export const groupRoles = [
  'sluice_tenant',
  'sluice_kernel',
  'sluice_intake',
  'sluice_parse',
  'sluice_promote',
  'sluice_cleanup',
] as const;

export const roleErrors = defineErrors({
  roles_not_creatable: forbidden(
    'The application login could not be created',
    'Give the owner of DATABASE_URL the CREATEROLE right, or create the roles by hand (docs/operating.md) and ' +
      'set DATABASE_APP_URL.',
    503,
  ),
  app_login_refused: forbidden(
    'The application login was refused',
    'Set DATABASE_APP_URL to a login that is a member of Sluice’s group roles, or let pg_hba.conf accept ' +
      'sluice_app with a password.',
    503,
  ),
});

/** Every process derives the same password from the owner's, so nothing has to be stored or handed round. */
function appPassword(ownerUrl: string): string | null {
  const ownerPassword = decodeURIComponent(new URL(ownerUrl).password);
  if (ownerPassword === '') return null;
  return createHmac('sha256', ownerPassword).update('sluice application login').digest('base64url');
}

export function appUrlFor(ownerUrl: string): string {
  const url = new URL(ownerUrl);
  const password = appPassword(ownerUrl);
  url.username = appLogin;
  url.password = password === null ? '' : encodeURIComponent(password);
  return url.href;
}

/** Makes sure that the group roles and the application login exist and that the login works. */
export function ensureRoles(ownerUrl: string): Promise<void> {
  return withOwner(ownerUrl, async (client) => {
    if (!(await rolesComplete(client))) await createRoles(client, ownerUrl);
  });
}

/** Whether the derived login is accepted; sets the password anew when another owner's password made it before. */
export async function ensureAppLogin(ownerUrl: string): Promise<void> {
  if (await canLogIn(appUrlFor(ownerUrl))) return;
  await withOwner(ownerUrl, (client) =>
    client.query(`alter role ${appLogin} password ${passwordLiteral(ownerUrl)}`),
  );
  if (await canLogIn(appUrlFor(ownerUrl))) return;
  throw roleErrors.raise.app_login_refused(`PostgreSQL does not accept the login ${appLogin}`);
}

async function rolesComplete(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ granted: number }>(
    `select count(*)::int as granted
       from pg_auth_members m
       join pg_roles g on g.oid = m.roleid
       join pg_roles l on l.oid = m.member
      where l.rolname = $1 and not l.rolinherit and not l.rolsuper and not l.rolbypassrls
        and g.rolname = any($2)`,
    [appLogin, groupRoles],
  );
  return rows[0]?.granted === groupRoles.length;
}

async function createRoles(client: pg.Client, ownerUrl: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>('select current_database() as name');
  const database = quoteIdentifier(rows[0]?.name ?? '');
  const statements = [
    ...groupRoles.map((role) => createIfMissing(role, 'nologin noinherit')),
    createIfMissing(
      appLogin,
      `login noinherit nocreatedb nocreaterole password ${passwordLiteral(ownerUrl)}`,
    ),
    `alter role ${appLogin} noinherit`,
    ...groupRoles.map((role) => `grant ${role} to ${appLogin}`),
    `grant connect on database ${database} to ${appLogin}`,
    ...groupRoles.map((role) => `grant usage on schema public to ${role}`),
  ];
  for (const statement of statements) await runPatiently(client, statement);
}

function createIfMissing(role: string, options: string): string {
  return `do $$ begin
    if not exists (select from pg_roles where rolname = '${role}') then
      create role ${role} ${options};
    end if;
  exception when duplicate_object or unique_violation then null;
  end $$`;
}

function passwordLiteral(ownerUrl: string): string {
  const password = appPassword(ownerUrl);
  return password === null ? 'null' : quoteLiteral(password);
}

/** Another database of the same cluster may change the same catalog rows: PostgreSQL then says XX000 or 40001. */
async function runPatiently(client: pg.Client, statement: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.query(statement);
      return;
    } catch (error) {
      const code = (error as { code?: string }).code;
      if (code === '42501') {
        throw roleErrors.raise.roles_not_creatable(
          `The owner in DATABASE_URL may not create roles: ${(error as Error).message}`,
          { cause: error },
        );
      }
      if (attempt === 20 || (code !== 'XX000' && code !== '23505')) throw error;
      await new Promise((resolve) => setTimeout(resolve, 25 * attempt));
    }
  }
}

async function canLogIn(url: string): Promise<boolean> {
  try {
    return await withClient({ connectionString: url, application_name: 'sluice-migrate' }, async () => true);
  } catch (error) {
    if (String((error as { code?: string }).code).startsWith('28')) return false;
    throw error;
  }
}
