import { beforeEach, expect, test } from 'vitest';
import {
  accept,
  isSigned,
  type Received,
  unusedUrl,
  useReceiver,
} from '../../../../test/support/fakes/webhook-receiver.ts';
import { metricIn } from '../../../../test/support/probes/signals.ts';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { eventually } from '../../../../test/support/worlds/kernel.ts';
import { type DeliveryRow, useWebhookStage } from '../../../../test/support/worlds/webhook-stage.ts';
import { testWebhookDeps } from '../../../../test/support/worlds/webhooks.ts';
import {
  changeEndpoint,
  getEndpoint,
  resendDelivery,
  rotateEndpointSecret,
  testEndpoint,
} from '../service.ts';

const database = useDatabase();
const receiver = useReceiver();
const stage = useWebhookStage(database);
const deps = () => testWebhookDeps(database.db);

beforeEach(() => {
  receiver.answer = accept;
  receiver.received.length = 0;
});

const allDelivered = (count: number) => (rows: DeliveryRow[]) =>
  rows.length === count && rows.every(({ status }) => status === 'delivered');
const typesOf = (messages: Received[]) => messages.map(({ event }) => event.type);

/** What an earlier test left behind may still arrive. */
const arrivedFor = ({ tenantId }: { tenantId: string }) =>
  receiver.received.filter(({ event }) => event.tenantid === tenantId);

async function eventsOf(tenantId: string, type: string): Promise<{ data: Record<string, unknown> }[]> {
  return database.owner<{ data: Record<string, unknown> }>(
    'select data from events where tenant_id = $1 and type = $2',
    [tenantId, type],
  );
}

test('an event arrives as CloudEvents JSON, signed, under the id of its delivery', async () => {
  const endpoint = await stage.endpointAt(receiver.url);
  await stage.write(endpoint.tenantId, 'job.completed', 'job-1', { rows: 7, text: 'ü\u2028' });
  const [row] = await stage.untilDeliveries(endpoint, allDelivered(1), 'the event is delivered');
  const [message] = arrivedFor(endpoint);
  expect(message?.event).toMatchObject({
    specversion: '1.0',
    type: 'job.completed',
    subject: 'job-1',
    tenantid: endpoint.tenantId,
    data: { rows: 7, text: 'ü\u2028' },
  });
  expect(message?.id).toBe(row?.delivery_id);
  expect(message?.contentType).toBe('application/cloudevents+json; charset=utf-8');
  expect(Math.abs(Date.now() / 1000 - (message?.timestampSeconds ?? 0))).toBeLessThan(60);
  expect(message && isSigned(message, endpoint.secret)).toBe(true);
  expect(message && isSigned({ ...message, body: `${message.body} ` }, endpoint.secret)).toBe(false);
  expect(row).toMatchObject({ attempt_count: 1, last_status_code: 204, last_error: null });
  const lanes = await database.owner('select from webhook_lanes where webhook_id = $1', [endpoint.webhookId]);
  expect(lanes).toEqual([]);
});

test('a delivery that fails holds up its own subject, in order and under the same id, and no other', async () => {
  receiver.answer = ({ event, turn }) => ({
    status: event.type === 'job.started' && event.subject === 'slow' && turn < 3 ? 500 : 200,
    body: 'not today',
  });
  const endpoint = await stage.endpointAt(receiver.url);
  for (const type of ['job.queued', 'job.started', 'job.completed']) {
    for (const subject of ['slow', 'fast']) await stage.write(endpoint.tenantId, type, subject);
  }
  const rows = await stage.untilDeliveries(endpoint, allDelivered(6), 'all are delivered');
  const of = (subject: string) => arrivedFor(endpoint).filter(({ event }) => event.subject === subject);
  expect(typesOf(of('fast'))).toEqual(['job.queued', 'job.started', 'job.completed']);
  const started = ['job.started', 'job.started', 'job.started'];
  expect(typesOf(of('slow'))).toEqual(['job.queued', ...started, 'job.completed']);
  expect(new Set(of('slow').map(({ id }) => id)).size).toBe(3);
  const tried = rows.find(({ lane, event_type: type }) => lane === 'slow' && type === 'job.started');
  expect(tried).toMatchObject({ attempt_count: 3, last_status_code: 200, last_error: null });
  expect(tried?.attempts).toMatchObject([
    { status_code: 500, response_body: 'not today', error: expect.stringContaining('returned 500') },
    { status_code: 500 },
    { status_code: 200, error: null },
  ]);
});

test('after ten tries a delivery is given up, its subject goes on, and the endpoint counts as failing', async () => {
  const patient = { status: 503, headers: { 'retry-after': '3600' } };
  receiver.answer = ({ event, turn }) => {
    if (event.type !== 'job.started') return { status: 200 };
    return turn === 1 ? patient : { status: 503 };
  };
  const endpoint = await stage.endpointAt(receiver.url);
  const other = await stage.endpointAt(receiver.url, {
    tenantId: endpoint.tenantId,
    eventTypes: ['webhook.*'],
  });
  await stage.write(endpoint.tenantId, 'job.started', 'a');
  // As if nine tries were over: their waits are another test's. The receiver asked for time, so that none is under way.
  const isTried = (rows: DeliveryRow[]) => (rows[0]?.attempt_count ?? 0) > 0;
  await stage.untilDeliveries(endpoint, isTried, 'it was tried');
  await database.owner('update webhook_deliveries set tries = 9 where webhook_id = $1', [endpoint.webhookId]);
  await database.owner('update webhook_lanes set not_before = null where webhook_id = $1', [
    endpoint.webhookId,
  ]);
  await changeEndpoint(deps(), endpoint, { isEnabled: true });
  await stage.untilDeliveries(endpoint, ([row]) => row?.status === 'exhausted', 'it is given up');
  expect((await getEndpoint(database.db, endpoint)).failingSince).not.toBeNull();
  await stage.write(endpoint.tenantId, 'job.completed', 'a');
  const isNextDone = (rows: DeliveryRow[]) => rows.some(({ status }) => status === 'delivered');
  const rows = await stage.untilDeliveries(endpoint, isNextDone, 'the next one is delivered');
  expect(rows.map(({ status }) => status)).toEqual(['exhausted', 'delivered']);
  expect((await getEndpoint(database.db, endpoint)).failingSince).toBeNull();
  const [told] = await eventsOf(endpoint.tenantId, 'webhook.exhausted');
  expect(told?.data).toMatchObject({ webhook_id: endpoint.webhookId, event_type: 'job.started', tries: 10 });
  await stage.untilDeliveries(other, allDelivered(1), 'the other endpoint hears of it');
});

test('410 disables the endpoint with the reason, and nothing is lost when it is enabled again', async () => {
  receiver.answer = () => ({ status: 410 });
  const endpoint = await stage.endpointAt(receiver.url);
  await stage.write(endpoint.tenantId, 'job.queued', 'a');
  await eventually(
    async () => !(await getEndpoint(database.db, endpoint)).isEnabled,
    'the endpoint is disabled',
  );
  await stage.write(endpoint.tenantId, 'job.started', 'a');
  expect(await getEndpoint(database.db, endpoint)).toMatchObject({
    disabledReason: 'The receiver returned 410: it wants no more webhooks',
    disabledAt: expect.any(Date),
  });
  expect(await eventsOf(endpoint.tenantId, 'webhook.disabled')).toHaveLength(1);
  expect(arrivedFor(endpoint)).toHaveLength(1);
  receiver.answer = accept;
  await changeEndpoint(deps(), endpoint, { isEnabled: true });
  await stage.untilDeliveries(endpoint, allDelivered(2), 'both are delivered');
  expect(typesOf(arrivedFor(endpoint))).toEqual(['job.queued', 'job.queued', 'job.started']);
});

test.each([429, 503])('a Retry-After of %i is waited for, whoever wants it sooner', async (status) => {
  receiver.answer = () => ({ status, headers: { 'retry-after': '3600' } });
  const endpoint = await stage.endpointAt(receiver.url);
  await stage.write(endpoint.tenantId, 'job.queued', 'a');
  await stage.untilDeliveries(endpoint, ([row]) => row?.attempt_count === 1, 'it was tried once');
  await changeEndpoint(deps(), endpoint, { isEnabled: true });
  const [lane] = await database.owner<{ seconds: number }>(
    `select extract(epoch from due_at - clock_timestamp())::float8 as seconds
       from webhook_lanes where webhook_id = $1`,
    [endpoint.webhookId],
  );
  expect(lane?.seconds).toBeGreaterThan(3_500);
  expect(lane?.seconds).toBeLessThanOrEqual(3_600);
});

test('a receiver that redirects or is not there is told of in words', async () => {
  receiver.answer = () => ({ status: 302, headers: { location: '/x' } });
  const endpoint = await stage.endpointAt(receiver.url);
  const away = await stage.endpointAt(unusedUrl, { tenantId: endpoint.tenantId });
  await stage.write(endpoint.tenantId, 'job.queued', 'elsewhere');
  const isTried = (rows: DeliveryRow[]) => rows.length === 1 && rows.every((row) => row.attempt_count > 0);
  const [elsewhere] = await stage.untilDeliveries(endpoint, isTried, 'it was tried');
  expect(elsewhere?.attempts[0]).toMatchObject({ status_code: 302 });
  expect(elsewhere?.attempts[0]?.error).toMatch(/redirects are not followed/);
  const [row] = await stage.untilDeliveries(away, isTried, 'the one that is not there was tried');
  expect(row?.attempts[0]).toMatchObject({ status_code: null, error: expect.stringContaining('127.0.0.1') });
});

test('only the beginning of a response is kept, without what PostgreSQL cannot store', async () => {
  receiver.answer = () => ({ status: 500, body: `a\0b${'ü'.repeat(100_000)}` });
  const endpoint = await stage.endpointAt(receiver.url);
  await stage.write(endpoint.tenantId, 'job.queued', 'a');
  const isTried = ([row]: DeliveryRow[]) => (row?.attempt_count ?? 0) > 0;
  const [row] = await stage.untilDeliveries(endpoint, isTried, 'it was tried');
  const kept = row?.attempts[0]?.response_body ?? '';
  expect(kept.startsWith('abü')).toBe(true);
  expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(1_100);
});

test('the status alone says whether a message was received, however its answer is packed', async () => {
  receiver.answer = () => ({ status: 200, headers: { 'content-encoding': 'zstd' }, body: 'ok' });
  const endpoint = await stage.endpointAt(receiver.url);
  await stage.write(endpoint.tenantId, 'job.queued', 'a');
  const isTried = ([row]: DeliveryRow[]) => (row?.attempt_count ?? 0) > 0;
  const [row] = await stage.untilDeliveries(endpoint, isTried, 'it was tried');
  expect(row).toMatchObject({ status: 'delivered', last_status_code: 200, attempt_count: 1 });
});

test('after a rotation both secrets sign, until the old one’s time is over', async () => {
  const endpoint = await stage.endpointAt(receiver.url);
  const rotated = await rotateEndpointSecret(deps(), endpoint);
  expect(rotated.secret).not.toBe(endpoint.secret);
  await stage.write(endpoint.tenantId, 'job.queued', 'a');
  await stage.untilDeliveries(endpoint, allDelivered(1), 'it is delivered');
  const [both] = arrivedFor(endpoint);
  expect(both?.signature.split(' ')).toHaveLength(2);
  expect(both && [endpoint.secret, rotated.secret].map((secret) => isSigned(both, secret))).toEqual([
    true,
    true,
  ]);
  await database.owner(`update webhook_endpoints set old_secret_until = now() where webhook_id = $1`, [
    endpoint.webhookId,
  ]);
  await stage.write(endpoint.tenantId, 'job.queued', 'b');
  await stage.untilDeliveries(endpoint, allDelivered(2), 'the next one is delivered');
  const last = arrivedFor(endpoint).at(-1);
  expect(last && [endpoint.secret, rotated.secret].map((secret) => isSigned(last, secret))).toEqual([
    false,
    true,
  ]);
});

test('a test is sent to the endpoint alone, once, whatever it subscribed to', async () => {
  receiver.answer = () => ({ status: 500 });
  const tenantId = await newTenant(database);
  const endpoint = await stage.endpointAt(receiver.url, { tenantId, eventTypes: ['job.*'] });
  const other = await stage.endpointAt(receiver.url, { tenantId });
  const principal = { tenantId, userId: 'u', role: 'admin', via: 'token' } as const;
  await testEndpoint(deps(), principal, endpoint.webhookId);
  await stage.untilDeliveries(endpoint, ([row]) => row?.status === 'exhausted', 'the test is over');
  expect(typesOf(arrivedFor(endpoint))).toEqual(['webhook.test']);
  expect(arrivedFor(endpoint)[0]?.event.subject).toBe(endpoint.webhookId);
  // It is only a test: nobody is told, and the endpoint does not count as failing.
  expect(await eventsOf(tenantId, 'webhook.exhausted')).toEqual([]);
  expect((await getEndpoint(database.db, endpoint)).failingSince).toBeNull();
  receiver.answer = accept;
  await stage.write(tenantId, 'job.queued', 'a');
  await stage.untilDeliveries(other, allDelivered(1), 'the other endpoint gets the next event');
});

test('a resent delivery arrives again under the same id, and later events do not wait for it', async () => {
  const endpoint = await stage.endpointAt(receiver.url);
  await stage.write(endpoint.tenantId, 'job.queued', 'a');
  const [first] = await stage.untilDeliveries(endpoint, allDelivered(1), 'it is delivered');
  receiver.answer = ({ event }) => ({ status: event.type === 'job.queued' ? 500 : 200 });
  const { tenantId } = endpoint;
  const resent = await resendDelivery(deps(), { tenantId, deliveryId: first?.delivery_id ?? '' });
  expect(resent).toMatchObject({ status: 'pending', attemptCount: 1 });
  await stage.write(tenantId, 'job.started', 'a');
  const isLaterDone = (rows: DeliveryRow[]) => rows[1]?.status === 'delivered';
  await stage.untilDeliveries(endpoint, isLaterDone, 'the later event is delivered');
  receiver.answer = accept;
  await resendDelivery(deps(), { tenantId, deliveryId: first?.delivery_id ?? '' });
  await stage.untilDeliveries(endpoint, allDelivered(2), 'the resent one is delivered');
  const ids = arrivedFor(endpoint)
    .filter(({ event }) => event.type === 'job.queued')
    .map(({ id }) => id);
  expect(ids.length).toBeGreaterThanOrEqual(2);
  expect(new Set(ids)).toEqual(new Set([first?.delivery_id]));
});

test('the metrics tell outcomes, lag and backlog', async () => {
  const outcomes = (outcome: string) =>
    metricIn(stage.registry, `sluice_webhook_deliveries_total{outcome="${outcome}"}`);
  // Both senders of this file work; the one that is looked at gets its share.
  const endpoint = await stage.endpointAt(receiver.url);
  const before = await outcomes('delivered');
  let written = 0;
  const hasMoved = async () => {
    written += 1;
    await stage.write(endpoint.tenantId, 'job.queued', `s-${written}`);
    return (await outcomes('delivered')) > before;
  };
  await eventually(hasMoved, 'a delivery is counted');
  expect(await metricIn(stage.registry, 'sluice_webhook_delivery_lag_seconds_count')).toBeGreaterThan(0);
  receiver.answer = () => ({ status: 429, headers: { 'retry-after': '60' } });
  await stage.write(endpoint.tenantId, 'job.queued', 'waits');
  await eventually(
    async () => (await metricIn(stage.registry, 'sluice_webhook_backlog')) > 0,
    'the backlog shows what waits',
  );
  expect(await metricIn(stage.registry, 'sluice_webhook_oldest_pending_seconds')).toBeGreaterThan(0);
});
