import { describe, expect, onTestFinished, test } from 'vitest';
import { type EventSource, liveEvents, openEventSource } from '../../test/support/probes/event-source.ts';
import { type TestClaims, useServer } from '../../test/support/servers/server.ts';
import { newTenant, useDatabase } from '../../test/support/worlds/database.ts';
import { eventually } from '../../test/support/worlds/kernel.ts';
import { newId } from '../lib/ids.ts';

const database = useDatabase();

describe('streams', () => {
  const server = useServer(database, {
    routes: [liveEvents({ maxStreams: 5, maxPerPrincipal: 3, maxPerTenant: 4, heartbeatMs: 60_000 })],
  });
  const open = async (claims: TestClaims, query = '') =>
    openEventSource(`${server.url}/api/events/stream${query}`, await server.bearer(claims));

  async function refusalOf(source: EventSource): Promise<unknown> {
    await source.ended();
    return {
      status: source.status,
      retry: source.headers['retry-after'],
      code: JSON.parse(source.text).code,
    };
  }

  test('are limited per user and per process, and a stream that ends frees its place', async () => {
    const tenantId = `sse-${newId()}`;
    const refused = { status: 429, retry: '10', code: 'too_many_streams' };
    const mine = [];
    for (let n = 0; n < 3; n += 1) mine.push(await open({ tenantId, userId: 'ada' }));
    expect(await refusalOf(await open({ tenantId, userId: 'ada' }))).toEqual(refused);
    const elsewhere = `sse-${newId()}`;
    const others = [
      await open({ tenantId: elsewhere, userId: 'bob' }),
      await open({ tenantId: elsewhere, userId: 'eve' }),
    ];
    expect(await refusalOf(await open({ tenantId, userId: 'dan' }))).toEqual(refused);
    for (const source of [...mine, ...others]) expect(source.status).toBe(200);
    others[0]?.close();
    const late: EventSource[] = [];
    await eventually(async () => {
      const source = await open({ tenantId, userId: 'dan' });
      late.push(source);
      return source.status === 200;
    }, 'the place becomes free');
    for (const source of [...mine, ...others, ...late]) source.close();
  });

  test('are limited per tenant too, however many users it has', async () => {
    const tenantId = `sse-${newId()}`;
    const all = [];
    for (let n = 0; n < 4; n += 1) all.push(await open({ tenantId, userId: `user-${n}` }));
    const refused = await open({ tenantId, userId: 'user-4' });
    expect(await refusalOf(refused)).toMatchObject({ status: 429, code: 'too_many_streams' });
    expect(JSON.parse(refused.text)).toMatchObject({ setting: 'TENANT_STREAMS', limit: 4 });
    const other = await open({ tenantId: `sse-${newId()}`, userId: 'ada' });
    expect(other.status).toBe(200);
    for (const source of [...all, other]) source.close();
  });

  // Here a client has a minute before it is cut off: the other one hangs all the time, however slow the machine is.
  test('do not wait for a stream whose client does not read', async () => {
    const tenantId = await tenantWithMuchToRead();
    const hanging = await open({ tenantId, userId: 'bob' }, '?after=0-0');
    hanging.pause();
    const reading = await open({ tenantId, userId: 'ada' }, '?after=0-0');
    await eventually(async () => reading.events.length >= muchToRead, 'the reader has all', 55_000);
    expect(hanging.isEnded).toBe(false);
    expect(hanging.events.length).toBeLessThan(muchToRead);
    reading.close();
    hanging.close();
  }, 90_000);
});

describe('a stream', () => {
  let aheadMs = 0;
  const clock = { nowMs: () => Date.now() + aheadMs };
  const server = useServer(database, {
    clock,
    routes: [liveEvents({ heartbeatMs: 50, stallMs: 300 }, clock)],
  });
  const open = async (claims: TestClaims, query = '') =>
    openEventSource(`${server.url}/api/events/stream${query}`, await server.bearer(claims));

  test('ends when its token has expired', async () => {
    const source = await open({ tenantId: `sse-${newId()}`, lifetimeSeconds: 300 });
    expect(source.status).toBe(200);
    await eventually(async () => source.comments.length >= 2, 'the stream lives');
    expect(source.isEnded).toBe(false);
    // With thirty seconds of tolerance.
    aheadMs = 331_000;
    onTestFinished(() => {
      aheadMs = 0;
    });
    await source.ended();
  });

  test('ends when its API key is revoked', async () => {
    const admin = await server.bearer({ tenantId: `sse-${newId()}` });
    const payload = { name: 'live', role: 'service' };
    const made = await server.app.inject({ method: 'POST', url: '/api/api-keys', headers: admin, payload });
    const { key, key_id } = made.json();
    const source = await openEventSource(`${server.url}/api/events/stream`, {
      authorization: `Bearer ${key}`,
    });
    await eventually(async () => source.comments.length >= 2, 'the stream lives');
    await server.app.inject({ method: 'DELETE', url: `/api/api-keys/${key_id}`, headers: admin });
    await source.ended();
  });

  test('a stream whose client does not read is cut off instead of filling the memory', async () => {
    const hanging = await open({ tenantId: await tenantWithMuchToRead() }, '?after=0-0');
    hanging.pause();
    const sockets = () =>
      new Promise<number>((resolve, reject) =>
        server.app.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      );
    await eventually(async () => (await sockets()) === 0, 'the server has cut it off', 60_000);
    expect(hanging.events.length).toBeLessThan(muchToRead);
    hanging.close();
  }, 90_000);
});

const muchToRead = 2_000;

/** More than what lies between a server and a client that does not read. */
async function tenantWithMuchToRead(): Promise<string> {
  const tenantId = await newTenant(database);
  await database.owner(
    `insert into events (tenant_id, type, subject, data)
     select $1, 'test.written', n::text, jsonb_build_object('text', repeat('x', 20000))
       from generate_series(1, $2::integer) n`,
    [tenantId, muchToRead],
  );
  return tenantId;
}
