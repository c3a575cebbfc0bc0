import { joinEmbeddedPostgres } from './embedded/embedded-postgres.ts';
import { type MigrationReport, migrateUp } from './migrate.ts';
import { retireOlderPrograms } from './older-programs.ts';
import { appUrlFor, ensureLogins, ensureRoles, isRefused, kernelUrlFor } from './roles.ts';

/** Which logins a process uses, and what it has to give back when it ends. */
export interface Connections {
  /** Migrates and makes the logins; null when only the logins were given. */
  readonly ownerUrl: string | null;
  /** For work that belongs to one tenant. */
  readonly appUrl: string;
  /** For work across tenants. */
  readonly kernelUrl: string;
  /** The same login past a connection pooler, for connections that hold locks. */
  readonly directKernelUrl: string;
  /** Whether the logins are Sluice's own, so that their passwords and rights may be set. */
  readonly ownsLogins: boolean;
  /** Where the embedded database is; null when the database is another one. */
  readonly embedded: { postgresDir: string } | null;
  /** Close all connections first. */
  leave(): Promise<void>;
}

export interface ConnectionSettings {
  databaseUrl: string | null;
  databaseAppUrl: string | null;
  databaseKernelUrl: string | null;
  databaseDirectUrl: string | null;
  dataDir: string;
}

/** Decides where the database is, and joins the embedded one when no other was given. */
export async function resolveConnections(
  settings: ConnectionSettings,
  options: { onNotice?: (text: string) => void } = {},
): Promise<Connections> {
  const { databaseUrl, databaseAppUrl, databaseKernelUrl, databaseDirectUrl } = settings;
  const givenOwner = databaseDirectUrl ?? databaseUrl;
  if (givenOwner === null && databaseAppUrl !== null) {
    const kernelUrl = databaseKernelUrl ?? (await findKernelLogin(databaseAppUrl));
    const logins = { appUrl: databaseAppUrl, kernelUrl, directKernelUrl: kernelUrl, ownsLogins: false };
    return { ...external, ...logins, ownerUrl: null };
  }
  if (givenOwner !== null) {
    const ownsLogins = databaseAppUrl === null;
    const appUrl = databaseAppUrl ?? withLogin(databaseUrl ?? givenOwner, appUrlFor(givenOwner));
    const kernelUrl =
      databaseKernelUrl ?? (ownsLogins ? kernelUrlFor(appUrl) : await findKernelLogin(appUrl));
    const directKernelUrl = databaseDirectUrl === null ? kernelUrl : withLogin(databaseDirectUrl, kernelUrl);
    return { ...external, ownerUrl: givenOwner, appUrl, kernelUrl, directKernelUrl, ownsLogins };
  }
  const server = await joinEmbeddedPostgres({ dataDir: settings.dataDir, onNotice: options.onNotice });
  const appUrl = appUrlFor(server.ownerUrl);
  const kernelUrl = kernelUrlFor(appUrl);
  return {
    ownerUrl: server.ownerUrl,
    ...{ appUrl, kernelUrl, directKernelUrl: kernelUrl, ownsLogins: true },
    embedded: { postgresDir: server.postgresDir },
    leave: () => server.leave(),
  };
}

/** Roles, schema and logins, in that order: migrations grant rights to the roles. Safe from any number of processes. */
export async function prepareDatabase(
  connections: Connections,
  options: { migrate: boolean; features?: string[]; onNotice?: (text: string) => void },
): Promise<MigrationReport | null> {
  const { ownerUrl, ownsLogins } = connections;
  if (ownerUrl === null || !options.migrate) return null;
  await ensureRoles(ownerUrl, { ownsLogins });
  const report = await migrateUp(ownerUrl, { features: options.features });
  if (!ownsLogins) return report;
  await ensureLogins(ownerUrl);
  if ((await retireOlderPrograms(ownerUrl)) === 'still_running') {
    options.onNotice?.(
      'A process of an older version is still connected, so its rights are kept. When none is left, start a process ' +
        'again or run `sluice migrate up` to take them away.',
    );
  }
  return report;
}

/** A login that an administrator made may have a password of its own, so that nothing can be derived from it. */
async function findKernelLogin(appUrl: string): Promise<string> {
  const derived = kernelUrlFor(appUrl);
  return derived !== appUrl && (await isRefused(derived)) ? appUrl : derived;
}

const external = { embedded: null, leave: async () => {} };

function withLogin(target: string, login: string): string {
  const url = new URL(target);
  const { username, password } = new URL(login);
  url.username = username;
  url.password = password;
  return url.href;
}
