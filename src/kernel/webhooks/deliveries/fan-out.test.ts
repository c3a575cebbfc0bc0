import { expect, test } from 'vitest';
import { openSession } from '../../../../test/support/probes/sessions.ts';
import { newTenant, useDatabase } from '../../../../test/support/worlds/database.ts';
import { testWebhookDeps } from '../../../../test/support/worlds/webhooks.ts';
import { createEndpoint } from '../service.ts';
import { fanOutOnce } from './fan-out.ts';

const database = useDatabase();

async function makeEndpoint(tenantId: string, eventTypes: string[] | null = null): Promise<string> {
  const principal = { tenantId, userId: 'u', role: 'admin', via: 'token' } as const;
  const input = { url: 'https://example.com/hook', eventTypes, description: null };
  return (await createEndpoint(testWebhookDeps(database.db), principal, input)).webhookId;
}

async function writeEvents(tenantId: string, events: [type: string, subject: string][]): Promise<void> {
  for (const [type, subject] of events) {
    await database.owner(`insert into events (tenant_id, type, subject, data) values ($1, $2, $3, '{}')`, [
      tenantId,
      type,
      subject,
    ]);
  }
}

async function fanOutAll(batchSize = 500): Promise<void> {
  while (await fanOutOnce(database.db, { batchSize }));
}

async function deliveriesOf(webhookId: string): Promise<{ type: string; lane: string }[]> {
  return database.owner<{ type: string; lane: string }>(
    `select event_type as type, lane from webhook_deliveries where webhook_id = $1 order by event_id`,
    [webhookId],
  );
}

test('an endpoint gets what it subscribed to, from the moment it was made and of its own tenant', async () => {
  const [tenantId, other] = [await newTenant(database), await newTenant(database)];
  await writeEvents(tenantId, [['job.queued', 'before']]);
  const all = await makeEndpoint(tenantId);
  const some = await makeEndpoint(tenantId, ['job.*', 'upload.completed']);
  await writeEvents(other, [['job.queued', 'of another tenant']]);
  const types = ['job.queued', 'upload.started', 'upload.completed', 'jobs.none', 'handoff.queued'];
  await writeEvents(
    tenantId,
    types.map((type) => [type, 's']),
  );
  await fanOutAll();
  expect((await deliveriesOf(all)).map(({ type }) => type)).toEqual(types);
  expect((await deliveriesOf(some)).map(({ type }) => type)).toEqual(['job.queued', 'upload.completed']);
});

test('what had committed before the endpoint was made is not for it, and what was in flight is', async () => {
  const tenantId = await newTenant(database);
  const older = await openSession(database);
  await older.query('begin');
  await older.query('select pg_current_xact_id()');
  await writeEvents(tenantId, [['job.queued', 'before']]);
  const webhookId = await makeEndpoint(tenantId);
  await writeEvents(tenantId, [['job.queued', 'after']]);
  await fanOutAll();
  expect((await deliveriesOf(webhookId)).map(({ lane }) => lane)).toEqual(['after']);
  await older.query(
    `insert into events (tenant_id, type, subject, data) values ($1, 'job.queued', 'in flight', '{}')`,
    [tenantId],
  );
  await older.query('commit');
  await fanOutAll();
  expect((await deliveriesOf(webhookId)).map(({ lane }) => lane)).toEqual(['after', 'in flight']);
});

test('many at once write exactly one delivery per event and endpoint, and a lane per subject', async () => {
  const tenantId = await newTenant(database);
  const endpoints = [await makeEndpoint(tenantId), await makeEndpoint(tenantId)];
  await database.owner(
    `insert into events (tenant_id, type, subject, data)
     select $1, 'job.progress', 'subject-' || n % 7, '{}' from generate_series(1, 200) n`,
    [tenantId],
  );
  await Promise.all(Array.from({ length: 6 }, () => fanOutAll(9)));
  await fanOutAll();
  for (const webhookId of endpoints) {
    expect(await deliveriesOf(webhookId)).toHaveLength(200);
    const lanes = await database.owner('select lane from webhook_lanes where webhook_id = $1', [webhookId]);
    expect(lanes).toHaveLength(7);
  }
});

test('a repeat after a cursor was set back writes nothing twice', async () => {
  const tenantId = await newTenant(database);
  const webhookId = await makeEndpoint(tenantId);
  await writeEvents(tenantId, [
    ['job.queued', 'a'],
    ['job.started', 'a'],
  ]);
  await fanOutAll();
  await database.owner(`update webhook_cursors set position = null, era = null where webhook_id = $1`, [
    webhookId,
  ]);
  await fanOutAll();
  expect(await deliveriesOf(webhookId)).toHaveLength(2);
});

test('an endpoint hears of the troubles of others, never of its own, and of nobody’s tests', async () => {
  const tenantId = await newTenant(database);
  const [one, other] = [await makeEndpoint(tenantId), await makeEndpoint(tenantId)];
  await writeEvents(tenantId, [
    ['webhook.disabled', one],
    ['webhook.exhausted', other],
    ['webhook.test', one],
    ['webhook.test', other],
  ]);
  await fanOutAll();
  expect(await deliveriesOf(one)).toEqual([{ type: 'webhook.exhausted', lane: other }]);
  expect(await deliveriesOf(other)).toEqual([{ type: 'webhook.disabled', lane: one }]);
});

test('a disabled endpoint goes on where it stood when it is enabled again', async () => {
  const tenantId = await newTenant(database);
  const webhookId = await makeEndpoint(tenantId);
  const enable = (isEnabled: boolean) =>
    database.owner(
      `update webhook_endpoints
          set is_enabled = $2, disabled_at = case when $2 then null else now() end
        where webhook_id = $1`,
      [webhookId, isEnabled],
    );
  await enable(false);
  await writeEvents(tenantId, [['job.queued', 'a']]);
  await fanOutAll();
  expect(await deliveriesOf(webhookId)).toEqual([]);
  await enable(true);
  await fanOutAll();
  expect(await deliveriesOf(webhookId)).toHaveLength(1);
});

test('a program of the version before passes over nothing that an open transaction has written', async () => {
  const tenantId = await newTenant(database);
  const webhookId = await makeEndpoint(tenantId);
  const open = await openSession(database);
  await open.query('begin');
  await open.query(
    `insert into events (tenant_id, type, subject, data) values ($1, 'job.queued', 'in flight', '{}')`,
    [tenantId],
  );
  await writeEvents(tenantId, [['job.queued', 'after']]);
  // Where a program of the version before left it: at an event of an older transaction with a higher id.
  await database.owner(
    `update webhook_cursors set xid = '3', event_id = (select max(event_id) from events) where webhook_id = $1`,
    [webhookId],
  );
  await fanOutAll();
  await open.query('commit');
  const next = await database.owner<{ subject: string }>(
    `select v.subject
       from webhook_cursors c
       join events v on v.tenant_id = c.tenant_id and (v.xid, v.event_id) > (c.xid, c.event_id)
      where c.webhook_id = $1
      order by v.xid, v.event_id`,
    [webhookId],
  );
  expect(next.map(({ subject }) => subject)).toContain('in flight');
});
