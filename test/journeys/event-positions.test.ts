import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { keepLog } from '../../src/kernel/events/retention.ts';
import type { EventEnvelope } from '../../src/kernel/events/types.ts';
import { createCursors } from '../../src/kernel/http/cursor.ts';
import { newId } from '../../src/lib/ids.ts';
import { packageDir } from '../../src/lib/package-dir.ts';
import { Database } from '../../src/lib/postgres/db.ts';
import { migrateUp } from '../../src/lib/postgres/migrate.ts';
import { appUrlFor, ensureRoles } from '../../src/lib/postgres/roles.ts';
import { createDatabase, queryOnce, withDatabase } from '../support/fakes/postgres-server.ts';
import { liveEvents, openEventSource } from '../support/probes/event-source.ts';
import { type TestServer, useServer } from '../support/servers/server.ts';
import { type TestDatabase, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';

// Positions that clients have kept, over HTTP: each is continued from or refused with a reason, never ignored.
const secret = 'the secret that signs cursors in these tests';
const retentionDays = 90;

/** A client of the event log of one tenant. */
function clientOf(database: TestDatabase, server: TestServer) {
  const tenantId = `tenant-${newId()}`;
  const write = (...subjects: string[]) =>
    database.owner(
      `insert into events (tenant_id, type, subject, data)
       select $1, 'job.queued', subject, '{}' from unnest($2::text[]) with ordinality s (subject, n) order by n`,
      [tenantId, subjects],
    );
  const get = async (query: string) => {
    const headers = await server.bearer({ tenantId });
    const response = await fetch(`${server.url}/api/events${query}`, { headers });
    return { status: response.status, body: (await response.json()) as Page & { code?: string } };
  };
  const stream = async (lastEventId: string) =>
    openEventSource(`${server.url}/api/events/stream`, {
      ...(await server.bearer({ tenantId })),
      'last-event-id': lastEventId,
    });

  return {
    tenantId,
    write,
    get,
    /** The cursor of a stream that has sent what there is. */
    positionAfter: async (id: string, count: number): Promise<string> => {
      const source = await stream(id);
      await source.count(count);
      source.close();
      return source.lastEventId;
    },
    async expectRefused(position: string, code: string): Promise<void> {
      const listed = await get(`?after=${position}`);
      expect({ position, status: listed.status, code: listed.body.code }).toEqual({
        position,
        status: 410,
        code,
      });
      const source = await stream(position);
      await source.ended();
      expect(source.status).toBe(410);
      expect(JSON.parse(source.text)).toMatchObject({ code, detail: expect.any(String) });
      expect(source.events).toEqual([]);
    },
    async expectToContinue(position: string, subjects: string[]): Promise<void> {
      expect((await get(`?after=${position}`)).body.data.map(({ subject }) => subject)).toEqual(subjects);
      const source = await stream(position);
      await source.count(subjects.length);
      expect(source.subjects()).toEqual(subjects);
      source.close();
    },
  };
}

interface Page {
  data: EventEnvelope[];
  next_cursor: string | null;
}

/** Everything written so far is past its retention, and is removed. */
async function expire(database: TestDatabase): Promise<void> {
  await database.owner(`select roll_event_log('0 s')`);
  await database.owner(
    `update event_partitions set opened_at = now() - interval '100 days' where opened_at is not null`,
  );
  await eventually(async () => {
    const { needed } = await keepLog(database.db, retentionDays);
    expect(needed).toBe(0);
    const left = await database.owner('select from events limit 1');
    return left.length === 0;
  }, 'all events are removed');
}

describe('the log, newest first', () => {
  const database = useDatabase();
  const server = useServer(database, { config: { secret } });
  const subjectsOf = ({ data }: Page) => data.map(({ subject }) => subject);

  test('is paged through by its cursor or from an event, and not mixed with the other order', async () => {
    const client = clientOf(database, server);
    await client.get('');
    await client.write('a', 'b', 'c', 'd', 'e');
    const first = (await client.get('?order=newest&limit=2')).body;
    expect(subjectsOf(first)).toEqual(['e', 'd']);
    const second = (await client.get(`?order=newest&limit=2&cursor=${first.next_cursor}`)).body;
    expect(subjectsOf(second)).toEqual(['c', 'b']);
    const third = (await client.get(`?order=newest&limit=2&cursor=${second.next_cursor}`)).body;
    expect({ subjects: subjectsOf(third), next: third.next_cursor }).toEqual({ subjects: ['a'], next: null });
    const before = await client.get(`?order=newest&before=${first.data[1]?.id}&limit=1`);
    expect(subjectsOf(before.body)).toEqual(['c']);
    const mixed = [
      `order=newest&after=${first.data[0]?.id}`,
      `before=${first.data[0]?.id}`,
      'order=newest&before=x',
    ];
    for (const query of mixed) expect((await client.get(`?${query}`)).status).toBe(400);
    const backwards = await client.get(`?cursor=${first.next_cursor}`);
    expect(backwards).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } });
  });
});

describe('a position in a log that was begun by this version', () => {
  const database = useDatabase();
  const server = useServer(database, { config: { secret }, routes: [liveEvents({ heartbeatMs: 100 })] });

  test('is refused as lost when the log has no such event', async () => {
    const client = clientOf(database, server);
    await client.get('');
    await client.write('a', 'b');
    const { data } = (await client.get('')).body;
    const [era, eventId] = (data[1]?.id ?? '').split('-').map(Number);
    await client.expectToContinue(data[0]?.id ?? '', ['b']);
    // Of another copy of the log, of an event that was rolled back or belongs to somebody else, of an older version.
    const unknown = [`${Number(era) + 1}-${eventId}`, `${era}-${Number(eventId) + 1}`, '12345-77'];
    for (const id of unknown) await client.expectRefused(id, 'event_position_lost');
    await client.expectToContinue('0-0', ['a', 'b']);
  });

  test('is refused as lost when it belongs to an era that this database does not have', async () => {
    const client = clientOf(database, server);
    await client.get('');
    await client.write('a', 'b');
    const [first] = (await client.get('')).body.data;
    const position = await client.positionAfter(first?.id ?? '', 1);
    await client.expectToContinue(position, []);
    await database.owner('update event_eras set era = era + 1');
    await client.expectRefused(position, 'event_position_lost');
    await database.owner('update event_eras set era = era - 1');
    await client.expectToContinue(position, []);
  });

  test('is refused as expired when events after it are past their retention', async () => {
    const client = clientOf(database, server);
    await client.get('');
    await client.write('a', 'b', 'c');
    const { data, next_cursor: cursor } = (await client.get('?limit=1')).body;
    const id = data[0]?.id ?? '';
    const position = await client.positionAfter(id, 2);
    await expire(database);
    await client.write('d');
    for (const gone of [id, cursor ?? '', position]) {
      await client.expectRefused(gone, 'event_position_expired');
    }
    expect((await client.get(`?cursor=${cursor}`)).body.code).toBe('event_position_expired');
  });

  test('is refused as invalid when it is none', async () => {
    const client = clientOf(database, server);
    for (const text of ['nonsense', '1', `${'9'.repeat(20)}-1`]) {
      expect((await client.get(`?after=${text}`)).body.code, text).toBe('invalid_event_position');
    }
    expect((await client.get('?after=a.b')).body.code).toBe('invalid_cursor');
  });
});

describe('a position that the version before gave out', () => {
  const database = useUpgradedDatabase();
  const server = useServer(database, { config: { secret }, routes: [liveEvents({ heartbeatMs: 100 })] });

  test('is continued from, as the id of an event and as a cursor, until its events expire', async () => {
    const client = clientOf(database, server);
    await client.get('');
    // As it wrote them: in the oldest era, whose order is (xid, event_id).
    const old = await database.owner<{ xid: string; id: number }>(
      `insert into events (tenant_id, xid, event_id, type, subject, data)
       values ($1, '700', 5, 'job.queued', 'old 1', '{}'), ($1, '701', 4, 'job.queued', 'old 2', '{}'),
              ($1, '701', 6, 'job.queued', 'old 3', '{}')
       returning xid::text, event_id::integer as id`,
      [client.tenantId],
    );
    await client.write('new');
    const subjects = ['old 1', 'old 2', 'old 3', 'new'];
    expect((await client.get('')).body.data.map(({ subject }) => subject)).toEqual(subjects);
    const cursors = createCursors(secret);
    for (const [index, { xid, id }] of old.entries()) {
      expect((await client.get('')).body.data[index]?.id).toBe(`${xid}-${id}`);
      await client.expectToContinue(`${xid}-${id}`, subjects.slice(index + 1));
      await client.expectToContinue(cursors.encode('events', [xid, id]), subjects.slice(index + 1));
    }
    await expire(database);
    await client.write('newer');
    for (const { xid, id } of old) {
      await client.expectRefused(`${xid}-${id}`, 'event_position_expired');
      await client.expectRefused(cursors.encode('events', [xid, id]), 'event_position_expired');
    }
    await client.expectToContinue('0-0', ['newer']);
  });
});

/** A database that had an event when it was migrated to partitions: its log begins with the era of older versions. */
function useUpgradedDatabase(): TestDatabase {
  const name = `test_${newId().replaceAll('-', '')}`;
  const serverUrl = inject('serverUrl');
  const ownerUrl = withDatabase(serverUrl, name);
  const appUrl = appUrlFor(ownerUrl);
  let db: Database | undefined;
  beforeAll(async () => {
    const dir = await mkdtemp(path.join(tmpdir(), 'sluice-migrations-'));
    const all = path.join(packageDir, 'migrations');
    for (const file of await readdir(all)) {
      if (file < '0023') await copyFile(path.join(all, file), path.join(dir, file));
    }
    await createDatabase(serverUrl, name);
    await ensureRoles(ownerUrl);
    await migrateUp(ownerUrl, { dir });
    await rm(dir, { recursive: true });
    await queryOnce(
      ownerUrl,
      `insert into tenants (tenant_id, name) values ('before', 'Before');
       insert into events (tenant_id, type, subject, data) values ('before', 'job.queued', 's', '{}')`,
    );
    await migrateUp(ownerUrl);
    db = new Database({ url: appUrl, applicationName: 'upgraded', maxConnections: 10 });
  });
  afterAll(async () => {
    await db?.close();
    await queryOnce(serverUrl, `drop database if exists ${name} with (force)`);
  });
  return {
    ownerUrl,
    appUrl,
    get db() {
      if (!db) throw new Error('The test database is available only after beforeAll has run');
      return db;
    },
    owner: (text, values) => queryOnce(ownerUrl, text, values),
  };
}
