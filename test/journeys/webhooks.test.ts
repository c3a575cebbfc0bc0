import { afterAll, beforeAll, expect, test } from 'vitest';
import { mintToken } from '../../src/kernel/tenancy/tokens.ts';
import { isSigned, type Received, useReceiver } from '../support/fakes/webhook-receiver.ts';
import { type Running, useCommandLine } from '../support/servers/command-line.ts';
import { testTokens } from '../support/servers/server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';

// Real processes: a server that only serves, two workers of which one is killed, and consumers with moods.
const env = {
  SLUICE_SECRET_KEY: 'ab'.repeat(32),
  SLUICE_BLOCK_PRIVATE_ADDRESSES: 'false',
  WEBHOOK_RETRY_BASE_SECONDS: '0.05',
  WEBHOOK_TIMEOUT_SECONDS: '1',
};
const database = useDatabase();
const receiver = useReceiver();
const sluice = useCommandLine();

let server: Running;

function start(...args: string[]): Running {
  const own = {
    DATABASE_URL: database.ownerUrl,
    SLUICE_JWT_SECRET: testTokens.secret ?? '',
    LOG_LEVEL: 'warn',
  };
  return sluice.start(args, { ...env, ...own, PORT: '0', SLUICE_WORKER: 'false' });
}

const serverUrl = () => /running at (\S+)/.exec(server.stdout())?.[1];

beforeAll(async () => {
  server = start('serve');
  await eventually(async () => serverUrl() !== undefined, 'the server is running', 60_000);
});

afterAll(async () => {
  server.child.kill('SIGTERM');
  await server.ended;
});

async function untilWorkers(count: number): Promise<void> {
  const areThere = async () => {
    const rows = await database.owner(
      `select from workers where heartbeat_at > now() - interval '30 seconds'`,
    );
    return rows.length >= count;
  };
  await eventually(areThere, `${count} workers have come`, 60_000);
}

interface LoggedEvent {
  id: string;
  subject: string;
  type: string;
}

function eventsOf(tenantId: string): Promise<LoggedEvent[]> {
  return database.owner<LoggedEvent>(
    `select event_era(event_id) || '-' || event_id as id, subject, type
       from events where tenant_id = $1 and type not like 'webhook.%' order by event_id`,
    [tenantId],
  );
}

async function actingFor(tenantId: string) {
  const claims = { tenantId, userId: 'a-user', role: 'admin', lifetimeSeconds: 600 } as const;
  const headers = { authorization: `Bearer ${await mintToken(testTokens, claims)}` };
  return async (method: string, path: string, body?: object | FormData) => {
    const isForm = body instanceof FormData;
    const answer = await fetch(`${serverUrl()}${path}`, {
      method,
      headers: { ...headers, ...(body && !isForm ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: isForm ? body : JSON.stringify(body) } : {}),
    });
    const text = await answer.text();
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? {} : JSON.parse(text);
  };
}

type Ask = Awaited<ReturnType<typeof actingFor>>;

async function makeJobs(ask: Ask, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const form = new FormData();
    form.set('processor', 'noop');
    form.set('file', new Blob([`sku\n${n}\n${n + 1}\n`]), 'rows.csv');
    await ask('POST', '/api/jobs', form);
  }
}

/** Every job has ended, so no event comes any more. */
function untilIdle(tenantId: string): Promise<void> {
  const isIdle = async () =>
    (
      await database.owner(
        `select from ingestion_jobs where tenant_id = $1 and status not in ('success', 'dead_letter')`,
        [tenantId],
      )
    ).length === 0;
  return eventually(isIdle, 'all jobs have ended', 60_000);
}

const accepted = new Set<Received>();

/** Decided by the message's own bytes, so that the behaviour does not depend on timing. */
function moodOf(message: Received): { status: number; headers?: Record<string, string>; afterMs?: number } {
  const mood = [...message.event.id].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 6;
  if (message.turn === 1 && mood === 0) return { status: 500 };
  if (message.turn === 1 && mood === 1) return { status: 429, headers: { 'retry-after': '1' } };
  if (message.turn === 1 && mood === 2) return { status: 200, afterMs: Number.POSITIVE_INFINITY };
  return { status: 200, afterMs: mood === 3 ? 100 : 0 };
}

/** Where an event came although one before it about the same subject had not been accepted yet. */
function outOfOrder(arrived: Received[], log: LoggedEvent[]): string[] {
  const reached = new Map<string, number>();
  return arrived.flatMap((message) => {
    const { subject } = message.event;
    const own = log.filter((event) => event.subject === subject).map(({ id }) => id);
    const at = own.indexOf(message.event.id);
    const next = reached.get(subject) ?? 0;
    if (accepted.has(message)) reached.set(subject, Math.max(next, at + 1));
    return at <= next ? [] : [`${message.event.type} of ${subject} came as ${at} before ${next}`];
  });
}

test('a flaky consumer gets every event, signed and in order per subject, although a worker is killed', async () => {
  const tenantId = await newTenant(database, 'enterprise');
  const ask = await actingFor(tenantId);
  const workers = [start('worker'), start('worker')];
  await untilWorkers(2);
  const moody = await ask('POST', '/api/webhooks', { url: `${receiver.url}/moody` });
  const away = await ask('POST', '/api/webhooks', { url: `${receiver.url}/gone`, event_types: ['job.*'] });
  receiver.answer = (message) => {
    if (message.path.endsWith('/gone')) return { status: 410 };
    const answer = moodOf(message);
    const isAnswered = answer.afterMs !== Number.POSITIVE_INFINITY;
    if (answer.status === 200 && isAnswered) accepted.add(message);
    return answer;
  };
  const arrived = () => receiver.received.filter(({ path }) => path.endsWith('/moody'));
  await makeJobs(ask, 8);
  await eventually(async () => arrived().length >= 10, 'the first ones arrive', 60_000);
  workers[0]?.child.kill('SIGKILL');
  await makeJobs(ask, 4);
  await untilIdle(tenantId);
  const log = await eventsOf(tenantId);
  expect(log.length).toBeGreaterThan(36);
  const missing = () => {
    const got = new Set([...accepted].map(({ event }) => event.id));
    return log.filter(({ id }) => !got.has(id));
  };
  await eventually(async () => missing().length === 0, 'every event has arrived', 60_000);
  expect(outOfOrder(arrived(), log)).toEqual([]);
  expect(arrived().filter((message) => !isSigned(message, moody.secret))).toEqual([]);
  // One id per event, the same on every try.
  const ids = new Map(arrived().map(({ id, event }) => [id, event.id]));
  expect(ids.size).toBe(new Set(arrived().map(({ event }) => event.id)).size);
  const isOff = async () => !(await ask('GET', `/api/webhooks/${away.webhook_id}`)).enabled;
  await eventually(isOff, 'who has gone is asked no more', 60_000);
  const isSettled = async () =>
    (await ask('GET', `/api/webhooks/${moody.webhook_id}/deliveries?status=pending`)).data.length === 0;
  await eventually(isSettled, 'nothing is pending', 60_000);
  workers[1]?.child.kill('SIGTERM');
  expect((await workers[1]?.ended)?.code).toBe(0);
}, 180_000);

test('a consumer that was down misses nothing', async () => {
  const tenantId = await newTenant(database, 'enterprise');
  const ask = await actingFor(tenantId);
  receiver.answer = () => ({ status: 200 });
  const { webhook_id: webhookId } = await ask('POST', '/api/webhooks', { url: receiver.url });
  await receiver.down();
  const worker = start('worker');
  await makeJobs(ask, 2);
  await untilIdle(tenantId);
  const log = await eventsOf(tenantId);
  const hasTried = async () => (await ask('GET', `/api/webhooks/${webhookId}`)).failures_in_row > 0;
  await eventually(hasTried, 'it was tried in vain', 60_000);
  await receiver.up();
  const mine = () => receiver.received.filter(({ event }) => event.tenantid === tenantId);
  const hasAll = async () => new Set(mine().map(({ event }) => event.id)).size === log.length;
  await eventually(hasAll, 'every event has arrived', 60_000);
  // As the documentation tells consumers: what was answered too late comes again, with the same id.
  const once = mine().filter(({ turn }) => turn === 1);
  for (const subject of new Set(log.map((event) => event.subject))) {
    const types = (events: { subject: string; type: string }[]) =>
      events.filter((event) => event.subject === subject).map(({ type }) => type);
    expect(types(once.map(({ event }) => event))).toEqual(types(log));
  }
  worker.child.kill('SIGTERM');
  await worker.ended;
}, 180_000);
