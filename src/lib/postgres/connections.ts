import { joinEmbeddedPostgres } from './embedded/embedded-postgres.ts';
import { type MigrationReport, migrateUp } from './migrate.ts';
import { appUrlFor, ensureAppLogin, ensureRoles } from './roles.ts';

/** Which logins a process uses, and what it has to give back when it ends. */
export interface Connections {
  /** Migrates and makes the application login; null when only the application login was given. */
  readonly ownerUrl: string | null;
  /** What every pool uses. */
  readonly appUrl: string;
  /** The same login past a connection pooler, for connections that hold locks. */
  readonly directAppUrl: string;
  /** Whether the application login is Sluice's own, so that its password may be set. */
  readonly ownsAppLogin: boolean;
  /** Where the embedded database is; null when the database is another one. */
  readonly embedded: { postgresDir: string } | null;
  /** Close all connections first. */
  leave(): Promise<void>;
}

export interface ConnectionSettings {
  databaseUrl: string | null;
  databaseAppUrl: string | null;
  databaseDirectUrl: string | null;
  dataDir: string;
}

/** Decides where the database is, and joins the embedded one when no other was given. */
export async function resolveConnections(
  settings: ConnectionSettings,
  options: { onNotice?: (text: string) => void } = {},
): Promise<Connections> {
  const { databaseUrl, databaseAppUrl, databaseDirectUrl } = settings;
  const givenOwner = databaseDirectUrl ?? databaseUrl;
  if (givenOwner === null && databaseAppUrl !== null) {
    return {
      ...external,
      ownerUrl: null,
      appUrl: databaseAppUrl,
      directAppUrl: databaseAppUrl,
      ownsAppLogin: false,
    };
  }
  if (givenOwner !== null) {
    const appUrl = databaseAppUrl ?? withLogin(databaseUrl ?? givenOwner, appUrlFor(givenOwner));
    const directAppUrl = databaseDirectUrl === null ? appUrl : withLogin(databaseDirectUrl, appUrl);
    return { ...external, ownerUrl: givenOwner, appUrl, directAppUrl, ownsAppLogin: databaseAppUrl === null };
  }
  const server = await joinEmbeddedPostgres({ dataDir: settings.dataDir, onNotice: options.onNotice });
  const appUrl = appUrlFor(server.ownerUrl);
  return {
    ownerUrl: server.ownerUrl,
    appUrl,
    directAppUrl: appUrl,
    ownsAppLogin: true,
    embedded: { postgresDir: server.postgresDir },
    leave: () => server.leave(),
  };
}

/** Roles, schema and login, in that order: migrations grant rights to the roles. Safe from any number of processes. */
export async function prepareDatabase(
  connections: Connections,
  options: { migrate: boolean; features?: string[] },
): Promise<MigrationReport | null> {
  const { ownerUrl } = connections;
  if (ownerUrl === null || !options.migrate) return null;
  await ensureRoles(ownerUrl);
  const report = await migrateUp(ownerUrl, { features: options.features });
  if (connections.ownsAppLogin) await ensureAppLogin(ownerUrl);
  return report;
}

const external = { embedded: null, leave: async () => {} };

function withLogin(target: string, login: string): string {
  const url = new URL(target);
  const { username, password } = new URL(login);
  url.username = username;
  url.password = password;
  return url.href;
}
