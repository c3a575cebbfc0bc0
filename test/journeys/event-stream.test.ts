import { describe, expect, test } from 'vitest';
import { recordEvent } from '../../src/kernel/events/service.ts';
import type { EventEnvelope } from '../../src/kernel/events/types.ts';
import { WakeUp } from '../../src/kernel/jobs/wake-up.ts';
import { newId } from '../../src/lib/ids.ts';
import { liveEvents, openEventSource } from '../support/probes/event-source.ts';
import { type TestClaims, useServer } from '../support/servers/server.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';

const database = useDatabase();
const fast = { heartbeatMs: 100 };

const server = useServer(database, { routes: [liveEvents(fast)] });

interface Written {
  tenantId: string;
  subject: string;
  type?: string;
  userId?: string | null;
  data?: Record<string, unknown>;
}

function write(written: Written) {
  const event = { type: 'test.written', data: {}, correlationId: 'c-1', ...written };
  return database.db.tenant(event.tenantId, (tx) =>
    recordEvent({ wake: new WakeUp(database.db) }, tx, event),
  );
}

interface Listed {
  status: number;
  body: { data: EventEnvelope[]; has_more: boolean; next_cursor: string | null };
}

async function list(claims: TestClaims, query = ''): Promise<Listed> {
  const headers = await server.bearer(claims);
  const answer = await fetch(`${server.url}/api/events${query}`, { headers });
  return { status: answer.status, body: (await answer.json()) as Listed['body'] };
}

const listed = ({ body }: Listed) => body.data.map(({ subject }) => subject);

async function eventuallyListed(claims: TestClaims, subjects: string[]) {
  await eventually(async () => listed(await list(claims)).length >= subjects.length, 'the events are listed');
  expect(listed(await list(claims))).toEqual(subjects);
}

async function stream(
  claims: TestClaims,
  options: { query?: string; lastEventId?: string; url?: string } = {},
) {
  const headers: Record<string, string> = await server.bearer(claims);
  if (options.lastEventId !== undefined) headers['last-event-id'] = options.lastEventId;
  return openEventSource(`${options.url ?? server.url}/api/events/stream${options.query ?? ''}`, headers);
}

describe('the audit log', () => {
  test('lists CloudEvents, oldest first', async () => {
    const tenantId = `log-${newId()} ü/`;
    await list({ tenantId });
    await write({ tenantId, subject: 'one', data: { rows: 3 } });
    await write({ tenantId, subject: 'two' });
    await eventuallyListed({ tenantId }, ['one', 'two']);
    const { body } = await list({ tenantId });
    expect(body).toMatchObject({ has_more: false, next_cursor: null });
    expect(body.data[0]).toEqual({
      specversion: '1.0',
      id: expect.stringMatching(/^\d+-\d+$/),
      source: `/tenants/${encodeURIComponent(tenantId)}`,
      type: 'test.written',
      subject: 'one',
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      datacontenttype: 'application/json',
      data: { rows: 3 },
      tenantid: tenantId,
      correlationid: 'c-1',
    });
  });

  test('filters by type, by type prefix and by subject', async () => {
    const tenantId = `log-${newId()}`;
    await list({ tenantId });
    const types = ['job.queued', 'job.completed', 'upload.completed', 'handoff.failed'];
    for (const type of types) await write({ tenantId, type, subject: type });
    await eventuallyListed({ tenantId }, types);
    const found = async (query: string) => listed(await list({ tenantId }, query));
    expect(await found('?type=job.*')).toEqual(['job.queued', 'job.completed']);
    expect(await found('?type=job.queued,upload.*')).toEqual(['job.queued', 'upload.completed']);
    expect(await found('?type=job.queued&type=handoff.failed')).toEqual(['job.queued', 'handoff.failed']);
    expect(await found('?subject=job.completed')).toEqual(['job.completed']);
    expect(await found('?type=upload.*&subject=job.completed')).toEqual([]);
    expect(await found('?type=&subject=&after=')).toEqual(types);
    expect((await list({ tenantId }, '?type=Job;drop')).status).toBe(400);
    expect((await list({ tenantId }, '?subject=a%00b')).status).toBe(400);
  });

  test('pages by cursor and continues after any event', async () => {
    const tenantId = `log-${newId()}`;
    await list({ tenantId });
    const subjects = ['a', 'b', 'c', 'd', 'e'];
    for (const subject of subjects) await write({ tenantId, subject });
    await eventuallyListed({ tenantId }, subjects);
    const first = await list({ tenantId }, '?limit=2');
    expect(first.body).toMatchObject({ has_more: true, next_cursor: expect.any(String) });
    const cursor = first.body.next_cursor;
    const second = await list({ tenantId }, `?limit=2&cursor=${cursor}`);
    const third = await list({ tenantId }, `?limit=2&cursor=${second.body.next_cursor}`);
    expect([first, second, third].map(listed)).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
    expect(third.body.next_cursor).toBeNull();
    // After an id alone, what was written beside other open transactions may come once more: tests beside this one
    // have such transactions in the same cluster.
    const afterId = listed(await list({ tenantId }, `?after=${second.body.data[0]?.id}`));
    expect(afterId.slice(-2)).toEqual(['d', 'e']);
    expect(['a', 'b']).toEqual(expect.arrayContaining(afterId.slice(0, -2)));
    expect(listed(await list({ tenantId }, `?after=${cursor}`))).toEqual(['c', 'd', 'e']);
    for (const query of [
      `cursor=${cursor}x`,
      'cursor=1-1',
      'after=x',
      'after=-1',
      `after=${'9'.repeat(20)}-1`,
    ]) {
      expect({ query, status: (await list({ tenantId }, `?${query}`)).status }).toEqual({
        query,
        status: 400,
      });
    }
  });

  test('shows members the events of their own jobs, and nobody another tenant’s', async () => {
    const [mine, theirs] = [`log-${newId()}`, `log-${newId()}`];
    await list({ tenantId: mine });
    await list({ tenantId: theirs });
    for (const userId of ['ada', 'bob', null])
      await write({ tenantId: mine, subject: `of ${userId}`, userId });
    await write({ tenantId: theirs, subject: 'theirs', userId: 'ada' });
    await eventuallyListed({ tenantId: mine }, ['of ada', 'of bob', 'of null']);
    await eventuallyListed({ tenantId: mine, role: 'member', userId: 'ada' }, ['of ada']);
    await eventuallyListed({ tenantId: mine, role: 'support' }, ['of ada', 'of bob', 'of null']);
    await eventuallyListed({ tenantId: theirs }, ['theirs']);
  });
});

describe('the live stream', () => {
  test('starts now, sends an event as it happens, and forbids caching and buffering', async () => {
    const tenantId = `live-${newId()}`;
    await list({ tenantId });
    await write({ tenantId, subject: 'before' });
    await eventuallyListed({ tenantId }, ['before']);
    const source = await stream({ tenantId });
    expect(source.status).toBe(200);
    expect(source.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
    });
    await write({ tenantId, subject: 'live', type: 'job.started', data: { n: 1 } });
    await source.count(1);
    const { body } = await list({ tenantId }, '?subject=live');
    expect(source.events).toEqual([{ id: expect.any(String), event: 'job.started', data: body.data[0] }]);
    source.close();
  });

  test('continues after Last-Event-ID without a gap or a repetition, wherever it was cut', async () => {
    const tenantId = `live-${newId()}`;
    let source = await stream({ tenantId });
    const got: string[] = [];
    const expected: string[] = [];
    for (let cut = 0; cut < 5; cut += 1) {
      for (let n = 0; n < 7; n += 1) {
        expected.push(`${cut}-${n}`);
        await write({ tenantId, subject: `${cut}-${n}` });
        // The connection breaks in the middle, and events go on.
        if (n !== 3) continue;
        await eventually(
          async () => got.length + source.events.length >= expected.length,
          'the first ones come',
        );
        got.push(...source.subjects());
        source.close();
        source = await stream({ tenantId }, { lastEventId: source.lastEventId, query: '?after=1-1' });
      }
    }
    await eventually(async () => got.length + source.events.length >= expected.length, 'all of them come');
    source.close();
    expect([...got, ...source.subjects()]).toEqual(expected);
  });

  test('begins after ?after=, and filters like the list', async () => {
    const tenantId = `live-${newId()}`;
    await list({ tenantId });
    for (const type of ['job.queued', 'upload.started', 'job.started']) {
      await write({ tenantId, type, subject: type });
    }
    await eventuallyListed({ tenantId }, ['job.queued', 'upload.started', 'job.started']);
    const all = await stream({ tenantId }, { query: '?after=0-0' });
    const jobs = await stream({ tenantId }, { query: '?after=0-0&type=job.*' });
    await all.count(3);
    await jobs.count(2);
    expect(jobs.subjects()).toEqual(['job.queued', 'job.started']);
    await write({ tenantId, type: 'upload.completed', subject: 'last' });
    await all.count(4);
    // The heartbeat moves a filtered stream on, past what it does not show.
    await eventually(async () => {
      const rest = await list({ tenantId }, `?after=${jobs.lastEventId}`);
      return listed(rest).length === 0;
    }, 'the filtered stream has passed what it does not show');
    expect(jobs.events).toHaveLength(2);
    for (const source of [all, jobs]) source.close();
  });

  test('shows one tenant’s events only, and to a member only their own', async () => {
    const [mine, theirs] = [`live-${newId()}`, `live-${newId()}`];
    const admin = await stream({ tenantId: mine });
    const member = await stream({ tenantId: mine, role: 'member', userId: 'ada' });
    const stranger = await stream({ tenantId: theirs, userId: 'ada' });
    for (let n = 0; n < 5; n += 1) {
      await write({ tenantId: mine, subject: `mine ${n}`, userId: n % 2 === 0 ? 'ada' : 'bob' });
      await write({ tenantId: theirs, subject: `theirs ${n}`, userId: 'ada' });
    }
    await Promise.all([admin.count(5), member.count(3), stranger.count(5)]);
    expect(admin.subjects()).toEqual(['mine 0', 'mine 1', 'mine 2', 'mine 3', 'mine 4']);
    expect(member.subjects()).toEqual(['mine 0', 'mine 2', 'mine 4']);
    expect(new Set(stranger.events.map(({ data }) => data.tenantid))).toEqual(new Set([theirs]));
    for (const source of [admin, member, stranger]) source.close();
  });

  test('sends heartbeats while nothing happens', async () => {
    const source = await stream({ tenantId: `live-${newId()}` });
    await eventually(async () => source.comments.length >= 3, 'heartbeats come');
    expect(source.events).toEqual([]);
    expect(new Set(source.comments)).toEqual(new Set(['heartbeat']));
    source.close();
  });

  test('replays thousands of events in bounded batches, in order', async () => {
    const tenantId = `live-${newId()}`;
    await list({ tenantId });
    await database.owner(
      `insert into events (tenant_id, type, subject, data)
       select $1, 'test.written', n::text, jsonb_build_object('text', repeat('x', 300))
         from generate_series(1, 3000) n`,
      [tenantId],
    );
    const source = await stream({ tenantId }, { query: '?after=0-0' });
    await source.count(3_000);
    expect(source.subjects()).toEqual(Array.from({ length: 3_000 }, (_, n) => String(n + 1)));
    source.close();
  });

  test('returns 400 for an invalid position and 401 without a token', async () => {
    const refused = await stream({ tenantId: `live-${newId()}` }, { lastEventId: 'nonsense' });
    await refused.ended();
    expect(refused.status).toBe(400);
    expect(JSON.parse(refused.text)).toMatchObject({ code: 'invalid_event_position' });
    const stranger = await openEventSource(`${server.url}/api/events/stream`, {});
    expect(stranger.status).toBe(401);
  });
});

describe('a server', () => {
  const slow = useServer(database, { routes: [liveEvents({ heartbeatMs: 60_000 })] });

  test('sends the start position first, so a stream cut before its first event loses nothing', async () => {
    const tenantId = `live-${newId()}`;
    const source = await stream({ tenantId }, { url: slow.url });
    await eventually(async () => source.lastEventId !== '', 'the stream says where it begins');
    source.close();
    await write({ tenantId, subject: 'missed' });
    const again = await stream({ tenantId }, { lastEventId: source.lastEventId });
    await again.count(1);
    expect(again.subjects()).toEqual(['missed']);
    again.close();
  });

  test('ends its streams at once when it stops, and they continue elsewhere without loss', async () => {
    const tenantId = `stop-${newId()}`;
    const source = await stream({ tenantId }, { url: slow.url });
    await write({ tenantId, subject: 'one' });
    await source.count(1);
    const startedAt = performance.now();
    await slow.app.close();
    await source.ended();
    expect(performance.now() - startedAt).toBeLessThan(30_000);
    await write({ tenantId, subject: 'two' });
    const again = await stream({ tenantId }, { lastEventId: source.lastEventId });
    await again.count(1);
    expect(again.subjects()).toEqual(['two']);
    again.close();
  });
});
