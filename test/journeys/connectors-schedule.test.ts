import { describe, expect, test } from 'vitest';
import { type Answer, hasEnded, type TestSync, useSyncs } from '../support/servers/sync-server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const syncs = useSyncs(database);
const hourMs = 3_600_000;

const get = async (sync: TestSync): Promise<Answer> =>
  (await syncs.call(sync, `/api/connectors/${sync.connectorId}`)).body;

async function setSchedule(sync: TestSync, next: string, last: string): Promise<void> {
  await database.owner(
    `update connectors
        set next_sync_at = now() + $2::interval, last_tick_at = now() + $3::interval
      where connector_id = $1`,
    [sync.connectorId, next, last],
  );
}

async function jobsOf(sync: TestSync): Promise<Answer[]> {
  const { body } = await syncs.call(sync, `/api/syncs?connector_id=${sync.connectorId}`);
  return body.data as Answer[];
}

const inHours = ({ next_sync_at }: Answer) => (Date.parse(String(next_sync_at)) - Date.now()) / hourMs;

describe('the cadence', () => {
  const allowed: [string, number, number][] = [
    ['free', 24, 201],
    ['free', 12, 422],
    ['free', 48, 422],
    ['growth', 6, 201],
    ['growth', 5, 422],
    ['growth', 12, 201],
    ['enterprise', 1, 201],
    ['enterprise', 0.5, 422],
  ];
  test.each(allowed)('under the plan %s, asked for as %d hours, becomes %d', async (plan, hours, status) => {
    const tenantId = await newTenant(database, plan);
    const { connectionId } = syncs.airbyte.addConnection();
    const answer = await syncs.call({ tenantId }, '/api/connectors', 'POST', {
      name: 'A shop',
      airbyte_connection_id: connectionId,
      external_account_id: 'shop-456',
      cadence_hours: hours,
    });
    expect(answer.status).toBe(status);
    if (status === 201) expect(answer.body).toMatchObject({ cadence_hours: hours });
    else {
      const minimum = { free: 24, growth: 6, enterprise: 1 }[plan];
      expect(answer.body).toMatchObject({ code: 'cadence_not_allowed', plan, minimum_hours: minimum });
      expect(answer.body.detail).toContain(`${minimum} hours`);
    }
  });

  test('is the plan’s when none is given, and the first sync comes one cadence later, with jitter', async () => {
    const sync = await syncs.connector({ plan: 'free' });
    const connector = await get(sync);
    expect(connector).toMatchObject({ cadence_hours: 24, configured_cadence_hours: null });
    expect(inHours(connector)).toBeGreaterThan(23.9);
    expect(inHours(connector)).toBeLessThan(24.6);
  });

  test('is spread: twenty connectors created together do not sync together', async () => {
    const tenantId = await newTenant(database, 'enterprise');
    const ticks = new Set<number>();
    for (let n = 0; n < 20; n += 1) {
      const { next_sync_at } = await get(await syncs.connector({ tenantId }));
      ticks.add(Math.floor(Date.parse(String(next_sync_at)) / 30_000));
    }
    expect(ticks.size).toBeGreaterThan(4);
  });

  test('widens with a downgrade, also for the tick already planned, and narrows with an upgrade', async () => {
    const sync = await syncs.connector({ plan: 'enterprise', cadence_hours: 1 });
    await setSchedule(sync, '10 minutes', '-50 minutes');
    const patch = (plan: string) =>
      syncs.call({ tenantId: 'the-operator', role: 'operator' }, `/api/tenants/${sync.tenantId}`, 'PATCH', {
        plan,
      });
    await patch('free').then(({ status }) => expect(status).toBe(200));
    expect(await get(sync)).toMatchObject({ cadence_hours: 24, configured_cadence_hours: 1 });
    await syncs.house.beforeCycle();
    const downgraded = await get(sync);
    expect(inHours(downgraded)).toBeGreaterThan(23);
    await patch('enterprise');
    await syncs.house.beforeCycle();
    const upgraded = await get(sync);
    expect(upgraded).toMatchObject({ cadence_hours: 1 });
    expect(inHours(upgraded)).toBeLessThan(0.3);
    expect(await jobsOf(sync)).toEqual([]);
  });

  test('can be changed later, within what the plan allows', async () => {
    const sync = await syncs.connector({ plan: 'growth' });
    const route = `/api/connectors/${sync.connectorId}`;
    expect((await syncs.call(sync, route, 'PATCH', { cadence_hours: 3 })).status).toBe(422);
    const changed = await syncs.call(sync, route, 'PATCH', { cadence_hours: 48 });
    expect(changed.body).toMatchObject({ cadence_hours: 48 });
    expect(inHours(changed.body)).toBeGreaterThan(47);
  });
});

describe('the schedule', () => {
  test('makes one job when it is due, and only one for many missed ticks', async () => {
    const sync = await syncs.connector({ plan: 'enterprise', cadence_hours: 1 });
    await setSchedule(sync, '-5 hours -10 minutes', '-6 hours -10 minutes');
    const reports = await Promise.all(Array.from({ length: 4 }, () => syncs.house.beforeCycle()));
    expect(reports.reduce((sum, { dispatched }) => sum + dispatched, 0)).toBe(1);
    const [job, ...more] = await jobsOf(sync);
    expect(more).toEqual([]);
    expect(job).toMatchObject({ status: 'queued', created_by: 'schedule' });
    // The ticks keep their place in the hour.
    expect(inHours(await get(sync))).toBeCloseTo(50 / 60, 1);
    await syncs.driveUntil(sync, String(job?.job_id), hasEnded);
    expect((await syncs.house.beforeCycle()).dispatched).toBe(0);
    expect(await get(sync)).toMatchObject({ last_sync: { job_id: job?.job_id, status: 'success' } });
  });

  test('counts a sync that is under way as this tick’s', async () => {
    const sync = await syncs.connector({}, { plan: { statuses: ['running'] } });
    const jobId = await syncs.start(sync);
    await setSchedule(sync, '-1 minute', '-2 hours');
    expect(await syncs.house.beforeCycle()).toMatchObject({ dispatched: 0, busy: 1 });
    expect((await jobsOf(sync)).map(({ job_id }) => job_id)).toEqual([jobId]);
    expect(inHours(await get(sync))).toBeGreaterThan(0.9);
  });

  test('leaves a disabled connector alone, which cannot be synced by hand either', async () => {
    const sync = await syncs.connector();
    const route = `/api/connectors/${sync.connectorId}`;
    const off = await syncs.call(sync, route, 'PATCH', { enabled: false });
    expect(off.body).toMatchObject({ enabled: false, next_sync_at: null });
    await setSchedule(sync, '-1 minute', '-2 hours');
    await syncs.house.beforeCycle();
    expect(await jobsOf(sync)).toEqual([]);
    const refused = await syncs.call(sync, `${route}/sync`, 'POST', {});
    expect(refused.body).toMatchObject({ code: 'connector_disabled' });
  });
});
