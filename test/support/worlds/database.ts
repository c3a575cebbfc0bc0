import pg from 'pg';
import { afterAll, beforeAll, inject } from 'vitest';
import { newId } from '../../../src/lib/ids.ts';
import { Database } from '../../../src/lib/postgres/db.ts';
import { appUrlFor } from '../../../src/lib/postgres/roles.ts';
import { createDatabase, queryOnce, withDatabase } from '../fakes/postgres-server.ts';

export interface TestDatabase {
  /** Under the application login, as the product runs. */
  readonly db: Database;
  readonly ownerUrl: string;
  readonly appUrl: string;
  /** As the owner (superuser), for arranging and for recounting behind the product's back. */
  owner<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>;
}

/** A database of this test file's own, cloned from the migrated template; dropped when the file has passed. */
export function useDatabase(): TestDatabase {
  const name = `test_${newId().replaceAll('-', '')}`;
  const serverUrl = inject('serverUrl');
  const ownerUrl = withDatabase(serverUrl, name);
  const appUrl = appUrlFor(ownerUrl);
  const owner = openOwner(ownerUrl);
  let db: Database | undefined;
  beforeAll(async () => {
    await createDatabase(serverUrl, name, inject('templateDatabase'));
    // As every start does: a clone is another database than its template, so its event log begins an era.
    await queryOnce(ownerUrl, 'select ensure_event_era()');
    // A test may ask for a thousand transactions at once: on a busy machine the last of them waits for long.
    const connectTimeoutMs = 60_000;
    db = new Database({ url: appUrl, applicationName: 'sluice-test', maxConnections: 10, connectTimeoutMs });
  });
  afterAll(async () => {
    await db?.close();
    const ended = owner.end();
    await queryOnce(serverUrl, `drop database if exists ${name} with (force)`);
    await ended;
  });
  return {
    ownerUrl,
    appUrl,
    get db() {
      if (!db) throw new Error('The test database is available only after beforeAll has run');
      return db;
    },
    owner: owner.query,
  };
}

/** Tests wait by polling: a login for each poll would cost more than the query. */
function openOwner(url: string) {
  // Enough that questions which wait for a lock do not keep the one from being asked that would free it.
  const pool = new pg.Pool({ connectionString: url, max: 20, idleTimeoutMillis: 2_000 });
  pool.on('error', () => {});
  return {
    async query<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
      try {
        return (await pool.query(text, values)).rows;
      } catch (error) {
        // Ended by a fault of the test while it rested here; nothing of the statement has been done.
        if (!wasEnded(error)) throw error;
        return (await pool.query(text, values)).rows;
      }
    },
    end: () => pool.end(),
  };
}

function wasEnded(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return 'code' in error ? error.code === '57P01' : error.message.startsWith('Connection terminated');
}

/** A new tenant for one test, so that tests of one file do not affect each other. */
export async function newTenant(database: TestDatabase, plan = 'free'): Promise<string> {
  const tenantId = `tenant-${newId()}`;
  await database.owner('insert into tenants (tenant_id, name, plan) values ($1, $1, $2)', [tenantId, plan]);
  return tenantId;
}
