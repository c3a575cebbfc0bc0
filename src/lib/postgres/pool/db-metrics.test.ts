import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { eventually } from '../../../../test/support/worlds/kernel.ts';
import { Database } from '../db.ts';
import { sql } from '../sql.ts';
import { observePoolWait } from './db-metrics.ts';

const database = useDatabase();

async function waits(registry: Registry): Promise<{ count: number; sum: number }> {
  const text = await registry.metrics();
  const read = (name: string) =>
    Number(new RegExp(`^sluice_pool_wait_seconds_${name} (.+)$`, 'm').exec(text)?.[1]);
  return { count: read('count'), sum: read('sum') };
}

test('a transaction knows how long it queued for a connection, and the metric has every wait', async () => {
  const registry = new Registry();
  const onTransaction = observePoolWait(registry);
  const db = new Database({
    url: database.appUrl,
    applicationName: 'wait',
    maxConnections: 1,
    onTransaction,
  });
  try {
    const first = db.kernel(async (tx) => {
      await tx.run(sql`select pg_sleep(0.2)`);
      return tx.wait;
    });
    const second = db.kernel(async (tx) => tx.wait);
    // Opening the first connection takes its time, but nobody was in its way.
    expect(await first).toMatchObject({ queuedMs: 0 });
    const { queuedMs, totalMs } = await second;
    expect(queuedMs).toBe(totalMs);
    expect(queuedMs).toBeGreaterThan(150);
    const third = await db.kernel(async (tx) => tx.wait);
    expect(third.queuedMs).toBe(0);
    await db.statement({ role: 'sluice_kernel' }, sql`select 1 as one`);
    const seen = await waits(registry);
    expect(seen.count).toBe(4);
    expect(seen.sum).toBeGreaterThan(queuedMs / 1000);
  } finally {
    await db.close();
  }
});

test('a wait that ended without a connection is observed as well', async () => {
  const registry = new Registry();
  const onTransaction = observePoolWait(registry);
  const options = { url: database.appUrl, applicationName: 'wait', maxConnections: 1, connectTimeoutMs: 100 };
  const db = new Database({ ...options, onTransaction });
  try {
    // Once it is open nobody is late but those for whom it is not free.
    await eventually(() => db.kernel(async () => true).catch(() => false), 'the connection is open');
    const { count } = await waits(registry);
    let free = (): void => {};
    const held = db.kernel(() => new Promise<void>((resolve) => (free = resolve)));
    await expect(db.kernel(async () => 1)).rejects.toMatchObject({ code: 'database_unavailable' });
    expect(await waits(registry)).toMatchObject({ count: count + 1 });
    free();
    await held;
    expect((await waits(registry)).count).toBe(count + 2);
  } finally {
    await db.close();
  }
});
