import pg from 'pg';
import { onTestFinished } from 'vitest';
import type { TestDatabase } from '../worlds/database.ts';
import { eventually } from '../worlds/kernel.ts';

/** A session of the owner, for tests with two concurrent transactions; it ends with the test. */
export async function openSession(database: TestDatabase): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.ownerUrl });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** Until some other session waits for a lock that this one holds. */
export async function untilWaitedFor(database: TestDatabase, client: pg.Client): Promise<void> {
  const { processID } = client as unknown as { processID: number };
  const isWaitedFor = async () => {
    const waiting = await database.owner(
      'select from pg_stat_activity where $1 = any(pg_blocking_pids(pid)) and datname = current_database()',
      [processID],
    );
    return waiting.length > 0;
  };
  await eventually(isWaitedFor, 'somebody waits for the session');
}
