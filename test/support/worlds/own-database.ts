import { afterAll, beforeAll } from 'vitest';
import { Database } from '../../../src/lib/postgres/db.ts';
import { migrateUp } from '../../../src/lib/postgres/migrate.ts';
import { appUrlFor, ensureLogins, ensureRoles } from '../../../src/lib/postgres/roles.ts';
import { createDatabase, queryOnce, startTestServer, withDatabase } from '../fakes/postgres-server.ts';
import type { TestDatabase } from './database.ts';

const startLimitMs = 60_000;

/** A database on a PostgreSQL of this test file's own, for what PostgreSQL counts only for all databases together. */
export function useOwnDatabase(): TestDatabase {
  let opened: { db: Database; ownerUrl: string; stop(): Promise<void> } | undefined;
  const open = () => {
    if (!opened) throw new Error('The test database is available only after beforeAll has run');
    return opened;
  };
  beforeAll(async () => {
    const server = await startTestServer();
    const ownerUrl = withDatabase(server.ownerUrl, 'own');
    await createDatabase(server.ownerUrl, 'own');
    await ensureRoles(ownerUrl);
    await ensureLogins(ownerUrl);
    await migrateUp(ownerUrl);
    const url = appUrlFor(ownerUrl);
    const db = new Database({ url, applicationName: 'sluice-test', maxConnections: 10 });
    opened = { db, ownerUrl, stop: server.stop };
  }, startLimitMs);
  afterAll(async () => {
    await opened?.db.close();
    await opened?.stop();
  }, startLimitMs);
  return {
    get db() {
      return open().db;
    },
    get ownerUrl() {
      return open().ownerUrl;
    },
    get appUrl() {
      return appUrlFor(open().ownerUrl);
    },
    owner: (text, values) => queryOnce(open().ownerUrl, text, values),
  };
}
