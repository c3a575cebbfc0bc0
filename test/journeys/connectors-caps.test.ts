import { describe, expect, test } from 'vitest';
import { airbyteTroubles } from '../support/fakes/fake-airbyte-troubles.ts';
import { type TestSync, useSyncs } from '../support/servers/sync-server.ts';
import { quickPolicy } from '../support/worlds/connector-house.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const syncs = useSyncs(database, { policy: { ...quickPolicy, maxRunning: 3, maxRunningPerWorkspace: 2 } });
const endless = { plan: { statuses: ['running'] } };

const triggered = ({ connection }: TestSync) =>
  syncs.airbyte.requestsOf('trigger', connection.connectionId).length;

async function started(workspaceId: string): Promise<{ sync: TestSync; jobId: string }> {
  const sync = await syncs.connector({}, { ...endless, workspaceId });
  return { sync, jobId: await syncs.start(sync) };
}

/** Each has run or waits for room. */
async function settle(all: { sync: TestSync; jobId: string }[]): Promise<number> {
  for (const { sync, jobId } of all) {
    await syncs.driveUntil(
      sync,
      jobId,
      ({ run_id, waiting_for, status }) =>
        run_id !== null || waiting_for === 'sync_cap' || status !== 'running',
    );
  }
  return all.filter(({ sync }) => triggered(sync) > 0).length;
}

test('no more syncs run at once than the caps of a workspace and of the installation allow', async () => {
  const one = [];
  for (let n = 0; n < 4; n += 1) one.push(await started('11111111-1111-4111-8111-111111111111'));
  expect(await settle(one)).toBe(2);
  const other = [await started('22222222-2222-4222-8222-222222222222')];
  other.push(await started('22222222-2222-4222-8222-222222222222'));
  expect(await settle([...one, ...other])).toBe(3);
  for (const { sync, jobId } of [...one, ...other]) {
    expect(await syncs.get(sync, jobId)).toMatchObject({ status: 'running', retry_count: 0 });
  }
  const [running] = one.filter(({ sync }) => triggered(sync) > 0);
  const run = syncs.airbyte.jobsOf(running?.sync.connection.connectionId ?? '')[0];
  syncs.airbyte.finish(String(run?.runId));
  if (running) await syncs.driveUntil(running.sync, running.jobId, ({ status }) => status === 'success');
  expect(await settle([...one, ...other].filter((each) => each !== running))).toBe(3);
});

test('workers that trigger at the same moment do not exceed the cap together', async () => {
  const all = await Promise.all(
    Array.from({ length: 8 }, (_, n) => started(`33333333-3333-4333-8333-33333333333${n}`)),
  );
  await Promise.all(
    all.map(({ sync, jobId }) =>
      syncs.held.kernel.kickOff({ tenantId: sync.tenantId, jobId, durationMs: 500 }),
    ),
  );
  // Three of the syncs before still run.
  const active = () => syncs.airbyte.state.jobs.filter(({ endedAtMs }) => endedAtMs === null);
  expect(active()).toHaveLength(3);
  for (const run of active()) syncs.airbyte.finish(String(run.runId));
  await syncs.drive();
  const drive = ({ sync, jobId }: { sync: TestSync; jobId: string }) =>
    syncs.held.kernel.kickOff({ tenantId: sync.tenantId, jobId, durationMs: 500 });
  await Promise.all(all.map(drive));
  expect(active()).toHaveLength(3);
});

test('syncs whose trigger failed do not wait for each other’s room, nor for their own', async () => {
  for (const { runId, endedAtMs } of syncs.airbyte.state.jobs) {
    if (endedAtMs === null) syncs.airbyte.finish(String(runId));
  }
  await database.owner(
    `update ingestion_jobs set status = 'canceled', finished_at = now()
      where status in ('queued', 'running', 'failed')`,
  );
  const all: { sync: TestSync; jobId: string }[] = [];
  for (let n = 0; n < 3; n += 1) {
    const one = await started('44444444-4444-4444-8444-444444444444');
    const { connectionId } = one.sync.connection;
    one.sync.connection.plan = { statuses: ['succeeded'], rows: 1 };
    syncs.airbyte.trouble({ kind: 'trigger', connectionId, times: 1 }, airbyteTroubles.serverError());
    await syncs.driveUntil(one.sync, one.jobId, ({ status }) => status === 'failed');
    all.push(one);
  }
  const drive = ({ sync, jobId }: { sync: TestSync; jobId: string }) =>
    syncs.driveUntil(sync, jobId, ({ status }) => status === 'success');
  await Promise.all(all.map(drive));
});

describe('a schedule by cron expression', () => {
  const enrol = async (plan: string, fields: object) => {
    const tenantId = await newTenant(database, plan);
    const answer = await syncs.call({ tenantId }, '/api/connectors', 'POST', {
      connector_id: 'shop',
      name: 'A shop',
      external_account_id: 'shop',
      airbyte_connection_id: syncs.airbyte.addConnection().connectionId,
      ...fields,
    });
    return { tenantId, ...answer };
  };

  test('is saved with its time zone and decides the next sync', async () => {
    const { status, body, tenantId } = await enrol('enterprise', {
      cron: '30 6 * * *',
      time_zone: 'Asia/Tokyo',
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({ cron: '30 6 * * *', time_zone: 'Asia/Tokyo', cadence_hours: 24 });
    // 6:30 in Tokyo, and at most a minute later.
    expect(String(body.next_sync_at)).toMatch(/T21:3[01]:/);
    const byCadence = await syncs.call({ tenantId }, '/api/connectors/shop', 'PATCH', { cadence_hours: 2 });
    expect(byCadence.body).toMatchObject({ cron: null, cadence_hours: 2 });
    const byCron = await syncs.call({ tenantId }, '/api/connectors/shop', 'PATCH', { cron: '0 */3 * * *' });
    expect(byCron.body).toMatchObject({ cron: '0 */3 * * *', configured_cadence_hours: null });
  });

  test('is refused with a sentence when it cannot be used or the plan does not allow it', async () => {
    const refused = [
      await enrol('enterprise', { cron: 'every day' }),
      await enrol('enterprise', { cron: '0 6 * * *', time_zone: 'Nowhere/Land' }),
      await enrol('enterprise', { cron: '0 6 * * *', cadence_hours: 24 }),
      await enrol('growth', { cron: '0 */2 * * *' }),
      await enrol('free', { cron: '0 */12 * * *' }),
    ];
    expect(refused.map(({ status, body }) => [status, body.code])).toEqual([
      [422, 'schedule_invalid'],
      [400, 'malformed_request'],
      [422, 'schedule_invalid'],
      [422, 'cadence_not_allowed'],
      [422, 'cadence_not_allowed'],
    ]);
    expect((await enrol('free', { cron: '0 6 * * *' })).status).toBe(201);
  });

  test('shows its next five syncs before it is saved', async () => {
    const tenantId = await newTenant(database, 'enterprise');
    const preview = (body: object) => syncs.call({ tenantId }, '/api/connectors/preview', 'POST', body);
    const { body } = await preview({ cron: '0 9 * * 1', time_zone: 'Europe/Paris' });
    const runs = body.next_runs as string[];
    expect(runs).toHaveLength(5);
    for (const run of runs) {
      const shown = new Intl.DateTimeFormat('en-GB', {
        timeZone: 'Europe/Paris',
        weekday: 'short',
        hour: '2-digit',
        minute: '2-digit',
      });
      expect(shown.format(new Date(run))).toBe('Mon 09:00');
    }
    expect((await preview({ cadence_hours: 3 })).body.next_runs).toHaveLength(5);
    expect((await preview({ cron: 'nonsense' })).status).toBe(422);
  });
});
