import pino from 'pino';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { eventually } from '../../../test/support/worlds/kernel.ts';
import { Database } from '../../lib/postgres/db.ts';
import { sql } from '../../lib/postgres/sql.ts';
import { WakeUp } from '../jobs/wake-up.ts';
import { installEventMetrics } from './metrics.ts';
import { listEvents, recordEvent } from './service.ts';
import { appendEvent } from './store.ts';
import { EventTails } from './tail.ts';
import type { EventFilter, EventPosition, EventRow } from './types.ts';

const database = useDatabase();
const logger = pino({ level: 'silent' });
const start: EventPosition = { xid: '0', eventId: 0 };
let writers: Database;

beforeAll(() => {
  writers = new Database({ url: database.appUrl, applicationName: 'writers', maxConnections: 20 });
});
afterAll(() => writers.close());

function unheard(): WakeUp {
  return new WakeUp(database.db);
}

function tailsOf(options: Partial<ConstructorParameters<typeof EventTails>[0]> = {}): EventTails {
  const failing = (error: unknown) => {
    throw error;
  };
  return new EventTails({ db: database.db, wake: unheard(), onError: failing, ...options });
}

/** Collects what a follower gets until it is stopped. */
function follow(
  tails: EventTails,
  { tenantId, after = start, filter = {} }: { tenantId: string; after?: EventPosition; filter?: EventFilter },
) {
  const stop = new AbortController();
  const events: EventRow[] = [];
  const batchSizes: number[] = [];
  const done = (async () => {
    for await (const batch of tails.follow({ tenantId, after, filter, signal: stop.signal })) {
      events.push(...batch.events);
      batchSizes.push(batch.events.length);
    }
  })();
  return {
    events,
    batchSizes,
    stop: async () => {
      stop.abort();
      await done;
    },
  };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const subjects = (events: EventRow[]) => events.map((event) => event.subject);
const event = (tenantId: string, subject: string) => ({ tenantId, type: 'test.written', subject, data: {} });

function write(tenantId: string, subject: string): Promise<EventPosition> {
  return database.db.tenant(tenantId, (tx) => appendEvent(tx, event(tenantId, subject)));
}

describe('a follower', () => {
  test('gets each of 1,000 events of twenty writers once, in a stable order', async () => {
    const tenantId = await newTenant(database);
    const follower = follow(tailsOf({ batchSize: 40, pollMs: 20 }), { tenantId });
    const writer = async (name: number) => {
      for (let n = 0; n < 50; n += 1) {
        await writers.tenant(tenantId, async (tx) => {
          // Transactions begin, write and commit in three different orders.
          await tx.run(sql`select pg_current_xact_id()`);
          await pause(Math.random() * 6);
          await appendEvent(tx, event(tenantId, `${name}-${n}`));
          await pause(Math.random() * 6);
        });
      }
    };
    await Promise.all(Array.from({ length: 20 }, (_, name) => writer(name)));
    await eventually(async () => follower.events.length >= 1_000, 'all 1,000 events are read');
    await follower.stop();
    expect(new Set(subjects(follower.events)).size).toBe(1_000);
    const all = await listEvents(database.db, { tenantId, limit: 2_000 });
    expect(subjects(follower.events)).toEqual(subjects(all));
    expect(all.every((row, index) => index === 0 || isAfter(row, all[index - 1]))).toBe(true);
    // Ordering by id alone would not have been enough: the writers did overtake each other.
    const ids = all.map((row) => row.eventId);
    expect(ids).not.toEqual([...ids].sort((a, b) => a - b));
    expect(Math.max(...follower.batchSizes)).toBeLessThanOrEqual(40);
  });

  test('between two transactions that commit in reverse order gets both once', async () => {
    const tenantId = await newTenant(database);
    const follower = follow(tailsOf({ pollMs: 20 }), { tenantId });
    let commit = () => {};
    const gate = new Promise<void>((resolve) => {
      commit = resolve;
    });
    let slowWritten = false;
    const slow = writers.tenant(tenantId, async (tx) => {
      await appendEvent(tx, event(tenantId, 'slow'));
      slowWritten = true;
      await gate;
    });
    await eventually(async () => slowWritten, 'the slow transaction has written');
    await write(tenantId, 'fast');
    const registry = new Registry();
    installEventMetrics(registry, { db: database.db, logger });
    const lag = async () =>
      Number(/^sluice_event_reader_lag_seconds (\S+)$/m.exec(await registry.metrics())?.[1] ?? Number.NaN);
    await eventually(async () => (await lag()) > 0.05, 'the metric shows how far the reader is held back');
    expect(follower.events).toEqual([]);
    commit();
    await slow;
    await eventually(async () => follower.events.length >= 2, 'both are read');
    await eventually(async () => (await lag()) === 0, 'the lag is over');
    await follower.stop();
    expect(subjects(follower.events)).toEqual(['slow', 'fast']);
  });

  test('is woken by an announcement before its next poll', async () => {
    const tenantId = await newTenant(database);
    const wake = unheard();
    let looks = 0;
    const onTransaction = () => {
      looks += 1;
    };
    const db = new Database({
      url: database.appUrl,
      applicationName: 'looks',
      maxConnections: 1,
      onTransaction,
    });
    // The first transaction of a tenant also reads the key that signs it.
    await db.tenant(tenantId, async () => {});
    looks = 0;
    const anHour = { lookAgainMs: 3_600_000, pollMs: 3_600_000 };
    const deaf = follow(tailsOf({ db, ...anHour }), { tenantId });
    await eventually(async () => looks === 1, 'the deaf follower has looked, in vain');
    const woken = follow(tailsOf({ db, wake, ...anHour }), { tenantId });
    await eventually(async () => looks === 2, 'the other one, too');
    await eventually(async () => {
      // Another test's open transaction may hold the first announcement back.
      await database.db.tenant(tenantId, (tx) => recordEvent({ wake }, tx, event(tenantId, 'announced')));
      return woken.events.length > 0;
    }, 'an announcement wakes the one that hears it');
    expect(deaf.events).toEqual([]);
    await Promise.all([deaf.stop(), woken.stop()]);
    await db.close();
  });

  test('finds by polling what nobody announced', async () => {
    const tenantId = await newTenant(database);
    const follower = follow(tailsOf({ pollMs: 50 }), { tenantId });
    await write(tenantId, 'silent');
    await eventually(async () => follower.events.length === 1, 'polling finds it');
    await follower.stop();
  });

  test('gets later events from the head, and events since a position from there', async () => {
    const tenantId = await newTenant(database);
    const tails = tailsOf({ pollMs: 20 });
    const old = await write(tenantId, 'old');
    await eventually(
      async () => BigInt((await tails.head()).xid) > BigInt(old.xid),
      'the head moves past it',
    );
    const fromHead = follow(tails, { tenantId, after: await tails.head() });
    const fromOld = follow(tails, { tenantId, after: old });
    const fromStart = follow(tails, { tenantId });
    await write(tenantId, 'new');
    await eventually(
      async () => fromHead.events.length + fromOld.events.length === 2,
      'both get the new one',
    );
    await eventually(async () => fromStart.events.length === 2, 'the third gets both');
    expect([fromHead, fromOld, fromStart].map(({ events }) => subjects(events))).toEqual([
      ['new'],
      ['new'],
      ['old', 'new'],
    ]);
    await Promise.all([fromHead, fromOld, fromStart].map((follower) => follower.stop()));
  });

  test('sees only its tenant, and a member only its own', async () => {
    const [mine, theirs] = [await newTenant(database), await newTenant(database)];
    const tails = tailsOf({ pollMs: 20 });
    const admin = follow(tails, { tenantId: mine });
    const member = follow(tails, { tenantId: mine, filter: { ownerId: 'ada' } });
    await write(theirs, 'theirs');
    for (const userId of ['bob', 'ada', null]) {
      await database.db.tenant(mine, (tx) => appendEvent(tx, { ...event(mine, `of ${userId}`), userId }));
    }
    await eventually(async () => admin.events.length >= 3 && member.events.length >= 1, 'all were read');
    await Promise.all([admin.stop(), member.stop()]);
    expect(subjects(admin.events)).toEqual(['of bob', 'of ada', 'of null']);
    expect(subjects(member.events)).toEqual(['of ada']);
  });
});

test('a log that cannot be read makes followers wait and is reported once', async () => {
  const tenantId = await newTenant(database);
  const errors: unknown[] = [];
  let looks = 0;
  const onTransaction = () => {
    looks += 1;
  };
  const url = database.appUrl;
  const db = new Database({ url, applicationName: 'cut', maxConnections: 1, onTransaction });
  await database.owner('revoke select on events from sluice_tenant');
  const follower = follow(tailsOf({ db, pollMs: 20, onError: (error) => errors.push(error) }), { tenantId });
  await eventually(async () => looks >= 3, 'it keeps trying');
  await database.owner('grant select on events to sluice_tenant');
  await database.db.kernel((tx) => appendEvent(tx, event(tenantId, 'after')));
  await eventually(async () => follower.events.length === 1, 'it goes on');
  await follower.stop();
  await db.close();
  expect(errors).toHaveLength(1);
});

function isAfter(row: EventRow, before: EventRow | undefined): boolean {
  if (!before) return true;
  const [a, b] = [BigInt(row.xid), BigInt(before.xid)];
  return a > b || (a === b && row.eventId > before.eventId);
}
