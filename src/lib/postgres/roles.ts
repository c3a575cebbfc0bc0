import { createHmac } from 'node:crypto';
import type pg from 'pg';
import { defineErrors, forbidden } from '../errors.ts';
import { withClient, withOwner } from './client.ts';
import { quoteIdentifier, quoteLiteral } from './sql.ts';

/**
 * The database roles. They are cluster-wide, so they are made here, idempotently, and not in a numbered migration.
 * Every pool uses one of two logins, neither of which is a superuser, bypasses row-level security or owns anything:
 * `sluice_app` works for one tenant at a time, `sluice_kernel_login` across tenants. Both are NOINHERIT before any
 * grant, because an inheriting login would have its roles' rights without stepping into them.
 */
export const appLogin = 'sluice_app';
export const kernelLogin = 'sluice_kernel_login';

/** What users' own pipelines write as: it reaches the application's tables, and none of Sluice's. */
export const effectsRole = 'sluice_effects';

export const tenantRoles = [
  'sluice_tenant',
  'sluice_intake',
  'sluice_parse',
  'sluice_promote',
  'sluice_cleanup',
  effectsRole,
] as const;

export const groupRoles = [...tenantRoles, 'sluice_kernel'] as const;

const memberships = [
  ...tenantRoles.map((role) => ({ role, login: appLogin })),
  { role: 'sluice_kernel', login: kernelLogin },
];

export const roleErrors = defineErrors({
  roles_not_creatable: forbidden(
    'The application login could not be created',
    'Give the owner of DATABASE_URL the CREATEROLE right, or create the roles by hand (docs/operating.md) and ' +
      'set DATABASE_APP_URL.',
    503,
  ),
  app_login_refused: forbidden(
    'A login of Sluice was refused',
    'Let pg_hba.conf (and a connection pooler) accept sluice_app and sluice_kernel_login with their passwords, or ' +
      'set DATABASE_APP_URL and DATABASE_KERNEL_URL to logins created as docs/operating.md says.',
    503,
  ),
});

/** Every process derives the same passwords from the owner's, so nothing has to be stored or handed round. */
function derivedPassword(from: string, purpose: string): string | null {
  return from === '' ? null : createHmac('sha256', from).update(purpose).digest('base64url');
}

export function appUrlFor(ownerUrl: string): string {
  return withDerivedLogin(ownerUrl, appLogin, 'sluice application login');
}

/** The kernel's login beside the application's; a login that an administrator made for everything is both. */
export function kernelUrlFor(appUrl: string): string {
  if (new URL(appUrl).username !== appLogin) return appUrl;
  return withDerivedLogin(appUrl, kernelLogin, 'sluice kernel login');
}

function withDerivedLogin(from: string, login: string, purpose: string): string {
  const url = new URL(from);
  const password = derivedPassword(decodeURIComponent(url.password), purpose);
  url.username = login;
  url.password = password === null ? '' : encodeURIComponent(password);
  return url.href;
}

function loginsFor(ownerUrl: string): { login: string; url: string }[] {
  const appUrl = appUrlFor(ownerUrl);
  return [
    { login: appLogin, url: appUrl },
    { login: kernelLogin, url: kernelUrlFor(appUrl) },
  ];
}

/** Makes sure that the group roles exist and, unless an administrator makes them, the logins with their rights. */
export function ensureRoles(ownerUrl: string, { ownsLogins = true } = {}): Promise<void> {
  return withOwner(ownerUrl, async (client) => {
    if (!(await rolesComplete(client, ownsLogins))) await createRoles(client, ownerUrl, ownsLogins);
  });
}

/** Whether the derived logins are accepted; sets a password anew when another owner's password made it before. */
export async function ensureLogins(ownerUrl: string): Promise<void> {
  for (const { login, url } of loginsFor(ownerUrl)) {
    if (await canLogIn(url)) continue;
    await withOwner(ownerUrl, (client) =>
      client.query(`alter role ${login} password ${passwordLiteral(url)}`),
    );
    if (await canLogIn(url)) continue;
    throw roleErrors.raise.app_login_refused(`PostgreSQL does not accept the login ${login}`);
  }
}

async function rolesComplete(client: pg.Client, ownsLogins: boolean): Promise<boolean> {
  const { rows } = await client.query<{ groups: number; granted: number; mayMakeTemporary: boolean }>(
    `select (select count(*)::int from pg_roles where rolname = any($1)) as groups,
            (select count(*)::int
               from unnest($2::text[], $3::text[]) as m (role, login)
               join pg_roles g on g.rolname = m.role
               join pg_roles l on l.rolname = m.login and not l.rolinherit and not l.rolsuper and not l.rolbypassrls
              where exists (select from pg_auth_members a where a.roleid = g.oid and a.member = l.oid)) as granted,
            exists (select from pg_database d
                     cross join lateral aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
                     where d.datname = current_database()
                       and a.grantee = 0
                       and a.privilege_type = 'TEMPORARY') as "mayMakeTemporary"`,
    [groupRoles, memberships.map(({ role }) => role), memberships.map(({ login }) => login)],
  );
  const [found] = rows;
  if (found?.groups !== groupRoles.length || found.mayMakeTemporary) return false;
  return !ownsLogins || found.granted === memberships.length;
}

async function createRoles(client: pg.Client, ownerUrl: string, ownsLogins: boolean): Promise<void> {
  const { rows } = await client.query<{ name: string }>('select current_database() as name');
  const database = quoteIdentifier(rows[0]?.name ?? '');
  const logins = ownsLogins ? loginsFor(ownerUrl) : [];
  const statements = [
    ...groupRoles.map((role) => createIfMissing(role, 'nologin noinherit')),
    ...logins.flatMap(({ login, url }) => [
      createIfMissing(login, `login noinherit nocreatedb nocreaterole password ${passwordLiteral(url)}`),
      `alter role ${login} noinherit`,
      `grant connect on database ${database} to ${login}`,
    ]),
    ...(ownsLogins ? memberships.map(({ role, login }) => `grant ${role} to ${login}`) : []),
    ...groupRoles.map((role) => `grant usage on schema public to ${role}`),
    // A temporary table of the same name would stand in for one of ours.
    `revoke temporary on database ${database} from public`,
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

function passwordLiteral(loginUrl: string): string {
  const password = decodeURIComponent(new URL(loginUrl).password);
  return password === '' ? 'null' : quoteLiteral(password);
}

/** Another database of the same cluster may change the same catalog rows: PostgreSQL then says XX000 or 40001. */
export async function runPatiently(client: pg.Client, statement: string): Promise<void> {
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

/** False as well when the server does not respond: that is for whoever needs it next to say. */
export async function isRefused(url: string): Promise<boolean> {
  return canLogIn(url).then(
    (isAccepted) => !isAccepted,
    () => false,
  );
}

async function canLogIn(url: string): Promise<boolean> {
  try {
    return await withClient({ connectionString: url, application_name: 'sluice-migrate' }, async () => true);
  } catch (error) {
    if (String((error as { code?: string }).code).startsWith('28')) return false;
    throw error;
  }
}
