import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { eventually } from '../../../test/support/worlds/kernel.ts';
import { Database } from '../../lib/postgres/db.ts';
import { sql } from '../../lib/postgres/sql.ts';
import { WakeUp } from '../jobs/wake-up.ts';
import { LogReader } from './reader.ts';
import { recordEvent } from './service.ts';
import { appendEvent } from './store.ts';
import { EventTails } from './tail.ts';
import type { EventFilter, EventKey, EventRow, LogPosition } from './types.ts';

const database = useDatabase();
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
  { tenantId, after, filter = {} }: { tenantId: string; after?: LogPosition; filter?: EventFilter },
) {
  const stop = new AbortController();
  const events: EventRow[] = [];
  const batchSizes: number[] = [];
  const done = (async () => {
    const from = after ?? (await LogReader.forTenant(database.db, tenantId).beginning());
    for await (const batch of tails.follow({ tenantId, after: from, filter, signal: stop.signal })) {
      events.push(...batch.events.map(({ event }) => event));
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

function write(tenantId: string, subject: string): Promise<EventKey> {
  return database.db.tenant(tenantId, (tx) => appendEvent(tx, event(tenantId, subject)));
}

describe('a follower', () => {
  test('gets each of 1,000 events of twenty writers once', async () => {
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
    expect(follower.events).toHaveLength(1_000);
    expect(new Set(subjects(follower.events)).size).toBe(1_000);
    // Remembering the highest id would not have been enough: the writers did overtake each other.
    const ids = follower.events.map((row) => row.eventId);
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
    await eventually(async () => follower.events.length === 1, 'nothing holds the fast one back');
    commit();
    await slow;
    await eventually(async () => follower.events.length >= 2, 'both are read');
    await follower.stop();
    expect(subjects(follower.events)).toEqual(['fast', 'slow']);
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
    const anHour = { pollMs: 3_600_000 };
    const after = await LogReader.forTenant(database.db, tenantId).end(tenantId);
    const deaf = follow(tailsOf({ db, ...anHour }), { tenantId, after });
    await eventually(async () => looks === 1, 'the deaf follower has looked, in vain');
    const woken = follow(tailsOf({ db, wake, ...anHour }), { tenantId, after });
    await eventually(async () => looks === 2, 'the other one, too');
    await database.db.tenant(tenantId, (tx) => recordEvent({ wake }, tx, event(tenantId, 'announced')));
    await eventually(async () => woken.events.length > 0, 'an announcement wakes the one that hears it');
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
    await write(tenantId, 'old');
    const fromHead = follow(tails, { tenantId, after: await tails.end(tenantId) });
    const { position } = await LogReader.forTenant(database.db, tenantId).read({ tenantId, limit: 1 }, null);
    const fromOld = follow(tails, { tenantId, after: position });
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
