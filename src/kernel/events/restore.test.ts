import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { queryOnce } from '../../../test/support/fakes/postgres-server.ts';
import { SystemCluster } from '../../../test/support/fakes/system-cluster.ts';
import { testWebhookDeps } from '../../../test/support/worlds/webhooks.ts';
import { Database } from '../../lib/postgres/db.ts';
import { migrateUp } from '../../lib/postgres/migrate.ts';
import { appUrlFor, ensureLogins, ensureRoles } from '../../lib/postgres/roles.ts';
import { createCursors } from '../http/cursor.ts';
import { fanOutOnce } from '../webhooks/deliveries/fan-out.ts';
import { createEndpoint } from '../webhooks/service.ts';
import { LogReader } from './reader.ts';
import { cursorOf, findPosition } from './service.ts';
import { eventIdText, type LogPosition } from './types.ts';

// What readers and webhooks find after the database has become another one, on clusters of their own.
const tenantId = 'acme';
const cursors = createCursors('secret');

/** The log of one database, as programs see it, and as its owner writes to it. */
class Log {
  readonly db: Database;
  readonly url: string;

  constructor(url: string) {
    this.url = url;
    this.db = new Database({ url: appUrlFor(url), applicationName: 'restored', maxConnections: 5 });
    onTestFinished(() => this.db.close());
  }

  async write(...subjects: string[]): Promise<void> {
    for (const subject of subjects) await queryOnce(this.url, insert(subject));
  }

  /** Through the text that a client keeps. */
  async read(after: LogPosition | string | null, limit = 100) {
    const text = after === null || typeof after === 'string' ? after : cursorOf(after, cursors);
    const position = text === null ? null : await findPosition(this.db, { tenantId, text, cursors });
    return LogReader.forTenant(this.db, tenantId).read({ tenantId, limit }, position);
  }

  async subjectsAfter(after: LogPosition | string | null): Promise<string[]> {
    return (await this.read(after)).events.map(({ subject }) => subject);
  }

  async fanOut(): Promise<string[]> {
    while (await fanOutOnce(this.db));
    const rows = await queryOnce<{ lane: string }>(
      this.url,
      'select lane from webhook_deliveries order by event_id',
    );
    return rows.map(({ lane }) => lane);
  }

  async reasons(): Promise<string[]> {
    const rows = await queryOnce<{ reason: string }>(this.url, 'select reason from event_eras order by era');
    return rows.map(({ reason }) => reason);
  }
}

const insert = (subject: string) =>
  `insert into events (tenant_id, type, subject, data) values ('${tenantId}', 'job.queued', '${subject}', '{}')`;

let primary: SystemCluster;
beforeAll(async () => {
  primary = await SystemCluster.create();
}, 60_000);
afterAll(() => primary.remove());

async function logIn(cluster: SystemCluster, name: string): Promise<Log> {
  const url = cluster.url(name);
  await queryOnce(cluster.url('postgres'), `create database ${name}`);
  await ensureRoles(url);
  await migrateUp(url);
  await ensureLogins(url);
  await queryOnce(url, `insert into tenants (tenant_id, name) values ('${tenantId}', 'Acme')`);
  return new Log(url);
}

/** Transaction ids far beyond those of a fresh cluster, as a busy one has them. */
async function useUpTransactions(log: Log): Promise<void> {
  await queryOnce(
    log.url,
    `do $$ begin for n in 1 .. 20000 loop perform pg_current_xact_id(); commit; end loop; end $$`,
  );
}

async function makeEndpoint(log: Log): Promise<void> {
  const principal = { tenantId, userId: 'u', role: 'admin', via: 'token' } as const;
  const input = { url: 'https://example.com/hook', eventTypes: null, description: null };
  await createEndpoint(testWebhookDeps(log.db), principal, input);
}

/** A reader that has not seen all there is: one event committed late, and two came after. */
async function arrange(log: Log) {
  await useUpTransactions(log);
  await log.write('before');
  await makeEndpoint(log);
  const late = new Database({ url: appUrlFor(log.url), applicationName: 'late', maxConnections: 2 });
  let commit = () => {};
  const gate = new Promise<void>((resolve) => {
    commit = resolve;
  });
  let hasWritten = () => {};
  const written = new Promise<void>((resolve) => {
    hasWritten = resolve;
  });
  const writing = late.tenant(tenantId, async (tx) => {
    await tx.client.query(insert('late'));
    hasWritten();
    await gate;
  });
  await written;
  await log.write('a', 'b');
  const { position, events } = await log.read(null);
  expect(await log.fanOut()).toEqual(['a', 'b']);
  commit();
  await writing;
  await late.close();
  await log.write('c', 'd');
  const last = events.at(-1);
  if (!last) throw new Error('Nothing was read');
  return { position, idOfLast: eventIdText(last) };
}

async function expectToGoOn(
  log: Log,
  { position, idOfLast }: { position: LogPosition; idOfLast: string },
): Promise<void> {
  // The first writer after the restore may come before anybody has noticed it.
  await log.write('e');
  expect(await log.subjectsAfter(position)).toEqual(['late', 'c', 'd', 'e']);
  await log.write('f');
  expect(await log.subjectsAfter(position)).toEqual(['late', 'c', 'd', 'e', 'f']);
  // With nothing but the id of the last event, what was written while the late one was open comes once more.
  expect(await log.subjectsAfter(idOfLast)).toEqual(['late', 'a', 'c', 'd', 'e', 'f']);
  expect(await log.subjectsAfter(null)).toEqual(['before', 'late', 'a', 'b', 'c', 'd', 'e', 'f']);
  expect(await log.fanOut()).toEqual(['late', 'a', 'b', 'c', 'd', 'e', 'f']);
  const ids = (await log.read(null)).events.map(eventIdText);
  expect(new Set(ids).size).toBe(ids.length);
  const page = await log.read(position, 2);
  expect(await log.subjectsAfter(page.position)).toEqual(['d', 'e', 'f']);
}

describe('readers and webhooks go on with what they have not seen', () => {
  test('after a dump was restored into a fresh cluster', async () => {
    const log = await logIn(primary, 'dumped');
    const before = await arrange(log);
    const dump = await primary.dump('dumped');
    const fresh = await SystemCluster.create();
    onTestFinished(() => fresh.remove());
    await ensureRoles(fresh.url('postgres'));
    await fresh.restore('restored', dump);
    await ensureLogins(fresh.url('restored'));
    const restored = new Log(fresh.url('restored'));
    await expectToGoOn(restored, before);
    expect(await restored.reasons()).toEqual(['installed or upgraded', 'another cluster']);
  }, 120_000);

  test('after a dump was restored into the same cluster', async () => {
    const log = await logIn(primary, 'copied');
    const before = await arrange(log);
    await primary.restore('copy', await primary.dump('copied'));
    const copy = new Log(primary.url('copy'));
    await expectToGoOn(copy, before);
    expect(await copy.reasons()).toEqual(['installed or upgraded', 'restored in the same cluster']);
  }, 120_000);

  test.each(['startPromoted', 'startRecovered'] as const)(
    'after a failover or a recovery, and what was lost with it is refused (%s)',
    async (start) => {
      const log = await logIn(primary, start.toLowerCase());
      const before = await arrange(log);
      const standby = await primary.baseBackup();
      onTestFinished(() => standby.remove());
      await log.write('lost 1', 'lost 2');
      const beyond = await log.read(null);
      await standby[start]();
      const promoted = new Log(standby.url(start.toLowerCase()));
      // These get the ids of the lost ones: nobody has noticed yet.
      await promoted.write('e', 'f');
      expect(await promoted.subjectsAfter(before.position)).toEqual(['late', 'c', 'd', 'e', 'f']);
      expect(await promoted.fanOut()).toEqual(['late', 'a', 'b', 'c', 'd', 'e', 'f']);
      expect(await promoted.reasons()).toEqual(['installed or upgraded', 'another timeline']);
      await expect(promoted.subjectsAfter(beyond.position)).rejects.toMatchObject({
        code: 'event_position_lost',
      });
      for (const position of beyond.positions.slice(-2)) {
        await expect(promoted.subjectsAfter(position)).rejects.toMatchObject({ code: 'event_position_lost' });
      }
    },
    120_000,
  );
});

test('a position of another copy of the log is refused', async () => {
  const log = await logIn(primary, 'forked');
  await log.write('a');
  await primary.restore('fork', await primary.dump('forked'));
  const fork = new Log(primary.url('fork'));
  await fork.write('of the fork');
  const { position, events } = await fork.read(null);
  await queryOnce(fork.url, `select roll_event_log('0 s')`);
  const id = eventIdText(events.at(-1) ?? { era: 0, xid: '', eventId: 0 });
  expect(await log.subjectsAfter(null)).toEqual(['a']);
  await expect(log.subjectsAfter(position)).rejects.toMatchObject({ code: 'event_position_lost' });
  await expect(log.subjectsAfter(id)).rejects.toMatchObject({ code: 'event_position_lost' });
  await expect(log.subjectsAfter('nonsense')).rejects.toMatchObject({ code: 'invalid_event_position' });
}, 60_000);
