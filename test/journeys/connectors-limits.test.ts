import { describe, expect, test } from 'vitest';
import { type Answer, hasEnded, type TestSync, useSyncs } from '../support/servers/sync-server.ts';
import { quickPolicy } from '../support/worlds/connector-house.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
// Windows of an hour: what waits in a test waits for its limit, however slow the machine is.
const policy = { ...quickPolicy, minIntervalMs: 3_600_000, accountLimit: 3, accountWindowMs: 3_600_000 };
const syncs = useSyncs(database, { policy });

const triggersOf = (sync: TestSync) =>
  syncs.airbyte.requestsOf('trigger', sync.connection.connectionId).length;

/** As if an hour had passed since the last triggers under this key. */
async function anHourLater(key: string): Promise<void> {
  await database.owner(
    `update rate_limits set moments = array(select m - interval '1 hour' from unnest(moments) m) where key = $1`,
    [key],
  );
  await database.owner(
    `update ingestion_jobs set run_at = now() where status = 'running' and leased_by is null`,
  );
}

const isSettled = (seen: Answer) => hasEnded(seen) || seen.waiting_for === 'rate_limit';

describe('triggers', () => {
  test('are at least the interval apart per connector, and waiting uses no retry', async () => {
    const sync = await syncs.connector();
    await syncs.driveUntil(sync, await syncs.start(sync), hasEnded);
    const jobId = await syncs.start(sync);
    const waiting = await syncs.driveUntil(sync, jobId, isSettled);
    expect(waiting).toMatchObject({ status: 'running', waiting_for: 'rate_limit', run_id: null });
    expect(triggersOf(sync)).toBe(1);
    const [row] = await database.owner<{ minutes: number }>(
      `select extract(epoch from run_at - now())::int / 60 as minutes from ingestion_jobs where job_id = $1`,
      [jobId],
    );
    expect(row?.minutes).toBeGreaterThanOrEqual(58);
    await anHourLater(`connector:${sync.tenantId}:${sync.connectorId}`);
    const ended = await syncs.driveUntil(sync, jobId, hasEnded);
    expect(ended).toMatchObject({ status: 'success', retry_count: 0 });
    expect(triggersOf(sync)).toBe(2);
  });

  test('share the limit of one external account over the connectors of a tenant', async () => {
    const account = 'an account of several connectors';
    const tenantId = await newTenant(database, 'enterprise');
    const all: { sync: TestSync; jobId: string }[] = [];
    for (let n = 0; n < 8; n += 1) {
      const sync = await syncs.connector({ tenantId, external_account_id: account });
      all.push({ sync, jobId: await syncs.start(sync) });
    }
    for (const triggered of [3, 6, 8]) {
      for (const { sync, jobId } of all) {
        expect(await syncs.driveUntil(sync, jobId, isSettled)).toMatchObject({ retry_count: 0 });
      }
      expect(all.reduce((sum, { sync }) => sum + triggersOf(sync), 0)).toBe(triggered);
      await anHourLater(`account:${tenantId}:${account}`);
    }
  });
});
