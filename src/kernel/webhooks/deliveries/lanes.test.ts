import { afterAll, expect, onTestFinished, test } from 'vitest';
import { useReceiver } from '../../../../test/support/fakes/webhook-receiver.ts';
import { openSession, untilWaitedFor } from '../../../../test/support/probes/sessions.ts';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { testElections } from '../../../../test/support/worlds/elections.ts';
import { eventually } from '../../../../test/support/worlds/kernel.ts';
import { webhookTables } from '../../../../test/support/worlds/webhook-stage.ts';
import { testWebhookDeps, testWebhooks } from '../../../../test/support/worlds/webhooks.ts';
import { createGuardedFetch } from '../../../lib/fetch/guarded-fetch.ts';
import { kernelTasks } from '../../upkeep/tasks.ts';
import { changeEndpoint, removeEndpoint } from '../service.ts';
import type { Attempt, DueDelivery, EndpointKey, Lease } from '../types.ts';
import { webhookTasks } from '../webhooks.ts';
import { listDue } from './due.ts';
import { fanOutOnce } from './fan-out.ts';
import { leaseLanes, lockDueEndpoints } from './lane-store.ts';
import { settleDelivery } from './settlement.ts';

// What single steps do when they meet each other: nobody sends here unless a test does.
const database = useDatabase();
const receiver = useReceiver();
const { endpointAt, write, deliveriesOf } = webhookTables(database);
const url = 'https://example.com/hook';
const wake = { announce: () => {} } as unknown as Parameters<typeof settleDelivery>[0]['wake'];
const guarded = createGuardedFetch({ blockPrivateAddresses: true, userAgent: 'Sluice/test' });
afterAll(() => guarded.close());

async function fanOut(endpoint: { webhookId: string }, count: number): Promise<void> {
  const isThere = async () => {
    while (await fanOutOnce(database.db));
    return (await deliveriesOf(endpoint)).length === count;
  };
  await eventually(isThere, `${count} deliveries are written`);
}

async function lease(endpoints: EndpointKey[], more: Partial<{ leaseMs: number; perEndpoint: number }> = {}) {
  const claim = { endpoints, limit: 100, perEndpoint: 8, failingAfter: 5, leaseMs: 60_000, ...more };
  return database.db.kernel(async (tx) => {
    const leases = await leaseLanes(tx, claim);
    return { leases, due: await listDue(tx, leases) };
  });
}

const attempt: Attempt = {
  at: '2026-01-01T00:00:00.000Z',
  status_code: 200,
  error: null,
  duration_ms: 1,
  response_body: null,
};
const settle = (due: DueDelivery | undefined) => {
  if (!due) throw new Error('Nothing was leased');
  return settleDelivery({ db: database.db, wake }, due, { type: 'delivered', attempt });
};
const lanesOf = (leases: Lease[]) => leases.map(({ lane }) => lane).sort();

test('a leased lane is nobody else’s, and its first delivery is the oldest', async () => {
  const endpoint = await endpointAt(url);
  for (const subject of ['a', 'b']) {
    for (const type of ['job.queued', 'job.started']) await write(endpoint.tenantId, type, subject);
  }
  await fanOut(endpoint, 4);
  const [one, other] = await Promise.all([lease([endpoint]), lease([endpoint])]);
  expect(lanesOf([...one.leases, ...other.leases])).toEqual(['a', 'b']);
  const due = [...one.due, ...other.due];
  expect(due.map(({ event }) => event?.type)).toEqual(['job.queued', 'job.queued']);
});

test('a sender whose lease was taken over cannot say any more how it went', async () => {
  const endpoint = await endpointAt(url);
  await write(endpoint.tenantId, 'job.queued', 'a');
  await fanOut(endpoint, 1);
  const {
    due: [slow],
  } = await lease([endpoint], { leaseMs: 0 });
  const {
    due: [next],
  } = await lease([endpoint]);
  expect(next?.deliveryId).toBe(slow?.deliveryId);
  expect(await settle(slow)).toBe(false);
  expect(await deliveriesOf(endpoint)).toMatchObject([{ status: 'pending', attempt_count: 0 }]);
  expect(await settle(next)).toBe(true);
  expect(await settle(next)).toBe(false);
  expect(await deliveriesOf(endpoint)).toMatchObject([{ status: 'delivered', attempt_count: 1 }]);
});

test('an event that comes while the last one of its lane is settled is not forgotten', async () => {
  const endpoint = await endpointAt(url);
  await write(endpoint.tenantId, 'job.queued', 'a');
  await fanOut(endpoint, 1);
  const {
    due: [first],
  } = await lease([endpoint]);
  await write(endpoint.tenantId, 'job.started', 'a');
  // Somebody holds the delivery, so that the settlement stands between its look at the lane and its end.
  const holder = await openSession(database);
  await holder.query('begin');
  await holder.query('select from webhook_deliveries where delivery_id = $1 for update', [first?.deliveryId]);
  const settling = settle(first);
  await untilWaitedFor(database, holder);
  const fanningOut = fanOut(endpoint, 2);
  await eventually(async () => {
    const waiting = await database.owner(
      `select from pg_stat_activity
        where wait_event_type = 'Lock' and query like '%webhook_lanes%' and datname = current_database()`,
    );
    return waiting.length > 0;
  }, 'the fan-out waits for the lane');
  await holder.query('commit');
  await Promise.all([settling, fanningOut]);
  const { due } = await lease([endpoint]);
  expect(due.map(({ event }) => event?.type)).toEqual(['job.started']);
});

test('an endpoint has so many in flight at most, and one that fails all the time a single one', async () => {
  const endpoint = await endpointAt(url);
  for (let n = 0; n < 6; n += 1) await write(endpoint.tenantId, 'job.queued', `s-${n}`);
  await fanOut(endpoint, 6);
  expect((await lease([endpoint], { perEndpoint: 4 })).due).toHaveLength(4);
  expect((await lease([endpoint], { perEndpoint: 4 })).due).toHaveLength(0);
  const failing = await endpointAt(url);
  for (let n = 0; n < 3; n += 1) await write(failing.tenantId, 'job.queued', `s-${n}`);
  await fanOut(failing, 3);
  await database.owner('update webhook_endpoints set failures_in_row = 5 where webhook_id = $1', [
    failing.webhookId,
  ]);
  expect((await lease([failing])).due).toHaveLength(1);
  expect((await lease([failing])).due).toHaveLength(0);
});

test('endpoints with nothing due, and disabled ones, are not looked at', async () => {
  const [idle, off] = [await endpointAt(url), await endpointAt(url)];
  await write(off.tenantId, 'job.queued', 'a');
  await fanOut(off, 1);
  await database.owner(
    'update webhook_endpoints set is_enabled = false, disabled_at = now() where webhook_id = $1',
    [off.webhookId],
  );
  const due = await database.db.kernel((tx) => lockDueEndpoints(tx, { limit: 1_000 }));
  const ids = due.map(({ webhookId }) => webhookId);
  expect(ids).not.toContain(idle.webhookId);
  expect(ids).not.toContain(off.webhookId);
});

test('a private address is refused when it is sent to, whatever the name said when the endpoint was made', async () => {
  const endpoint = await endpointAt(receiver.url);
  const { dispatcher } = testWebhooks(database.db, { fetch: guarded });
  await write(endpoint.tenantId, 'job.queued', 'a');
  await eventually(async () => {
    await dispatcher.drain(5_000);
    return ((await deliveriesOf(endpoint))[0]?.attempt_count ?? 0) > 0;
  }, 'it was tried');
  const [row] = await deliveriesOf(endpoint);
  expect(row?.attempts[0]?.error).toMatch(/127\.0\.0\.1 .*refused/);
  expect(receiver.received).toEqual([]);
});

test('a receiver that is too slow is told of in words', async () => {
  receiver.answer = () => ({ status: 200, afterMs: 1_500 });
  const endpoint = await endpointAt(receiver.url);
  const { dispatcher } = testWebhooks(database.db, { webhookTimeoutSeconds: 1 });
  await write(endpoint.tenantId, 'job.queued', 'slow');
  await eventually(async () => {
    await dispatcher.drain(5_000);
    return ((await deliveriesOf(endpoint))[0]?.attempt_count ?? 0) > 0;
  }, 'it was tried');
  const [row] = await deliveriesOf(endpoint);
  expect(row?.attempts[0]?.error).toMatch(/had not sent its whole response after 1000 ms/);
});

test('a receiver that asked for a short time only can be tried as soon as that is over', async () => {
  receiver.answer = () => ({ status: 503, headers: { 'retry-after': '0' } });
  const endpoint = await endpointAt(receiver.url);
  const { dispatcher } = testWebhooks(database.db, { webhookRetryBaseSeconds: 60 });
  await write(endpoint.tenantId, 'job.queued', 'a');
  await eventually(async () => {
    await dispatcher.drain(5_000);
    return (await deliveriesOf(endpoint))[0]?.attempt_count === 1;
  }, 'it was tried');
  const waitSeconds = async () => {
    const [lane] = await database.owner<{ seconds: number }>(
      `select extract(epoch from due_at - clock_timestamp())::float8 as seconds
         from webhook_lanes where webhook_id = $1`,
      [endpoint.webhookId],
    );
    return lane?.seconds;
  };
  expect(await waitSeconds()).toBeGreaterThan(30);
  await changeEndpoint(testWebhookDeps(database.db), endpoint, { isEnabled: true });
  expect(await waitSeconds()).toBeLessThanOrEqual(0);
});

test('a stopping process gives back what it could not finish, and that was no try', async () => {
  receiver.answer = () => ({ status: 200, afterMs: 60_000 });
  const endpoint = await endpointAt(receiver.url);
  const { dispatcher } = testWebhooks(database.db, { webhookTimeoutSeconds: 60 });
  await write(endpoint.tenantId, 'job.queued', 'a');
  const elections = testElections(database.db);
  onTestFinished(() => elections.stop());
  elections.start();
  dispatcher.start(elections.office('webhooks'));
  const isSent = async () => receiver.received.some(({ event }) => event.tenantid === endpoint.tenantId);
  await eventually(isSent, 'it is being sent');
  await dispatcher.stop(10);
  expect(await deliveriesOf(endpoint)).toMatchObject([{ status: 'pending', attempt_count: 0 }]);
  expect((await lease([endpoint])).due).toHaveLength(1);
});

/** Opens a partition after what has been written, a hundred days ago. */
async function agePartition(): Promise<void> {
  await database.owner(`select roll_event_log('0 s'), roll_event_log('1 day')`);
  await database.owner(`
    update event_partitions set opened_at = now() - interval '100 days'
     where opened_at is not null`);
}

async function purgeEvents(): Promise<void> {
  const tasks = kernelTasks({ db: database.db, eventRetentionDays: 90, jobRetentionDays: 90 });
  await tasks.find(({ name }) => name === 'purge_events')?.run();
}

async function eventsLeft(tenantId: string): Promise<string[]> {
  const rows = await database.owner<{ subject: string }>(
    'select subject from events where tenant_id = $1 order by event_id',
    [tenantId],
  );
  return rows.map(({ subject }) => subject);
}

/** A transaction that is open anywhere in the cluster keeps a cursor from the newest partition for a while. */
async function untilLeft(tenantId: string, subjects: string[]): Promise<void> {
  const isLeft = async () => {
    while (await fanOutOnce(database.db));
    await purgeEvents();
    return (await eventsLeft(tenantId)).join() === subjects.join();
  };
  await eventually(isLeft, `${subjects.length} events are left`);
}

test('old events stay together as long as an endpoint has not got one of them, and go then', async () => {
  // Everything that other tests left is nobody's any more.
  await database.owner('delete from webhook_deliveries');
  await database.owner('delete from webhook_endpoints');
  const endpoint = await endpointAt(url);
  const { tenantId } = endpoint;
  await write(tenantId, 'job.queued', 'a');
  await fanOut(endpoint, 1);
  await write(tenantId, 'job.queued', 'b');
  await agePartition();
  await purgeEvents();
  expect(await eventsLeft(tenantId), 'b is ahead of the cursor').toEqual(['a', 'b']);
  await fanOut(endpoint, 2);
  await purgeEvents();
  expect(await eventsLeft(tenantId), 'nothing was delivered').toEqual(['a', 'b']);
  const { due } = await lease([endpoint]);
  await settle(due[0]);
  await purgeEvents();
  expect(await eventsLeft(tenantId), 'one delivery is pending').toEqual(['a', 'b']);
  await settle(due[1]);
  await untilLeft(tenantId, []);
});

test('a partition with an event that a webhook has not been given stays until it was delivered', async () => {
  await database.owner('delete from webhook_deliveries');
  await database.owner('delete from webhook_endpoints');
  const endpoint = await endpointAt(url);
  const { tenantId } = endpoint;
  await write(tenantId, 'job.queued', 'a');
  await agePartition();
  await purgeEvents();
  expect(await eventsLeft(tenantId), 'no delivery is pending, but the endpoint has not read it').toEqual([
    'a',
  ]);
  await fanOut(endpoint, 1);
  const { due } = await lease([endpoint]);
  await settle(due[0]);
  await untilLeft(tenantId, []);
});

test('a disabled endpoint keeps only the events of its pending deliveries', async () => {
  await database.owner('delete from webhook_deliveries');
  await database.owner('delete from webhook_endpoints');
  const endpoint = await endpointAt(url);
  const { tenantId } = endpoint;
  await write(tenantId, 'job.queued', 'a');
  await fanOut(endpoint, 1);
  await agePartition();
  await write(tenantId, 'job.queued', 'b');
  await agePartition();
  await database.owner(
    'update webhook_endpoints set is_enabled = false, disabled_at = now() where webhook_id = $1',
    [endpoint.webhookId],
  );
  await untilLeft(tenantId, ['a']);
  await removeEndpoint({ db: database.db }, endpoint);
  await untilLeft(tenantId, []);
});

test('finished deliveries go after their retention, open ones only with their endpoint or long after it', async () => {
  const tenantId = await newTenant(database);
  const [live, off, gone] = [
    await endpointAt(url, { tenantId }),
    await endpointAt(url, { tenantId }),
    await endpointAt(url, { tenantId }),
  ];
  await write(tenantId, 'job.queued', 'a');
  await write(tenantId, 'job.queued', 'b');
  for (const endpoint of [live, off, gone]) await fanOut(endpoint, 2);
  await database.owner(
    `update webhook_deliveries set status = 'delivered', finished_at = now() - interval '15 days'
      where tenant_id = $1 and lane = 'a'`,
    [tenantId],
  );
  await database.owner(
    `update webhook_endpoints set is_enabled = false, disabled_at = now() - interval '15 days' where webhook_id = $1`,
    [off.webhookId],
  );
  // As a crash between the two steps of a removal leaves it.
  await database.owner('delete from webhook_endpoints where webhook_id = $1', [gone.webhookId]);
  const [task] = webhookTasks(database.db, 14);
  expect(await task?.run()).toEqual({ finished: 3, unwanted: 2 });
  expect(await deliveriesOf(live)).toMatchObject([{ lane: 'b', status: 'pending' }]);
  expect(await deliveriesOf(off)).toEqual([]);
  expect(await deliveriesOf(gone)).toEqual([]);
});
