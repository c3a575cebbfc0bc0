import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { eventually } from '../../../test/support/worlds/kernel.ts';
import { LogReader } from './reader.ts';
import type { LogPosition } from './types.ts';

// Many writers whose transactions begin, lock, write, commit and roll back in all orders, beside readers with batches
// of all sizes. The writers keep the ledger: what committed, and in which order each subject was locked.
const database = useDatabase();
const seed = Number(process.env.SLUICE_SEED ?? Date.now() % 1_000_000);
const subjectCount = 6;
const writerCount = 12;
const transactionsPerWriter = 40;

let pool: pg.Pool;
beforeAll(async () => {
  pool = new pg.Pool({ connectionString: database.ownerUrl, max: writerCount + 2 });
  // The database is dropped while the last connections are still closing: unheard, that would end the run.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  await database.owner(`
    create table locked_subjects (subject text primary key, turn integer not null);
    insert into locked_subjects select 's' || n, 0 from generate_series(0, ${subjectCount - 1}) n`);
});
afterAll(() => pool.end());

/** Repeatable: https://en.wikipedia.org/wiki/Linear_congruential_generator */
function randomFrom(start: number): (below: number) => number {
  let state = start;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** One writer: each transaction takes up to three subjects, in one order for all, so that nobody waits in a circle. */
async function writeAll(
  { tenantId, name, ledger }: { tenantId: string; name: number; ledger: string[] },
  random: (below: number) => number,
): Promise<void> {
  const client = await pool.connect();
  try {
    for (let n = 0; n < transactionsPerWriter; n += 1) {
      const written: string[] = [];
      await client.query('begin');
      // Half of them have an id long before they lock anything.
      if (random(2) === 0) await client.query('select pg_current_xact_id()');
      for (let subject = 0; subject < subjectCount; subject += 1) {
        if (random(3) > 0) continue;
        await pause(random(6));
        if (random(4) === 0) await client.query('savepoint here');
        const { rows } = await client.query<{ turn: number }>(
          'update locked_subjects set turn = turn + 1 where subject = $1 returning turn',
          [`s${subject}`],
        );
        const type = `turn.n${String(rows[0]?.turn).padStart(6, '0')}`;
        await client.query(`insert into events (tenant_id, type, subject, data) values ($1, $2, $3, $4)`, [
          tenantId,
          type,
          `s${subject}`,
          JSON.stringify({ name, n }),
        ]);
        written.push(`s${subject} ${type}`);
      }
      await pause(random(random(10) === 0 ? 60 : 4));
      const isKept = random(4) > 0;
      await client.query(isKept ? 'commit' : 'rollback');
      if (isKept) ledger.push(...written);
    }
  } finally {
    client.release();
  }
}

test(`every reader gets each committed event once, subjects in the order of their locks (seed ${seed})`, async () => {
  const tenantId = await newTenant(database);
  const ledger: string[] = [];
  const reader = LogReader.forTenant(database.db, tenantId);
  const start = await reader.end(tenantId);
  // An open write transaction beside them, for all of the time.
  const other = await pool.connect();
  await other.query('begin; select pg_current_xact_id()');
  let isOver = false;
  const readers = [1, 2, 7, 100].map(async (limit, index) => {
    const random = randomFrom(seed + 1_000 + index);
    const got: string[] = [];
    let position: LogPosition = start;
    for (;;) {
      const wasOver = isOver;
      const page = await reader.read({ tenantId, limit }, position);
      got.push(...page.events.map(({ subject, type }) => `${subject} ${type}`));
      // Sometimes only a part of the page arrives, and the reader continues after its last event.
      const cut = random(5) === 0 && page.events.length > 0 ? random(page.events.length) : null;
      if (cut === null) position = page.position;
      else {
        got.length -= page.events.length - cut - 1;
        position = page.positions[cut] ?? position;
      }
      if (wasOver && page.isDone && cut === null) return got;
      await pause(random(15));
    }
  });
  await Promise.all(
    Array.from({ length: writerCount }, (_, name) =>
      writeAll({ tenantId, name, ledger }, randomFrom(seed + name)),
    ),
  );
  isOver = true;
  const results = await Promise.all(readers);
  await other.query('rollback');
  other.release();
  expect(ledger.length).toBeGreaterThan(200);
  for (const got of results) {
    expect([...got].sort()).toEqual([...ledger].sort());
    for (let n = 0; n < subjectCount; n += 1) {
      const turns = got.filter((text) => text.startsWith(`s${n} `));
      expect(turns).toEqual([...turns].sort());
    }
  }
}, 120_000);

test('a partition is removed while readers and writers go on', async () => {
  const tenantId = await newTenant(database);
  const reader = LogReader.forTenant(database.db, tenantId);
  let position = await reader.end(tenantId);
  let written = 0;
  let isOver = false;
  const got: number[] = [];
  const writing = (async () => {
    while (!isOver) {
      written += 1;
      await pool.query(
        `insert into events (tenant_id, type, subject, data) values ($1, 'test.written', $2, '{}')`,
        [tenantId, String(written)],
      );
    }
  })();
  const follow = async () => {
    const page = await reader.read({ tenantId, limit: 50 }, position);
    position = page.position;
    got.push(...page.events.map(({ subject }) => Number(subject)));
    return page.isDone;
  };
  for (let day = 0; day < 5; day += 1) {
    await eventually(async () => {
      await follow();
      return got.length > (day + 1) * 20;
    }, 'events are read');
    await pool.query(`select roll_event_log('0 s')`);
    await follow();
    await pool.query(`select roll_event_log('1 day')`);
    // A partition goes when all of its events are old; this reader, which does not keep it, must have read them.
    const before = written;
    while (got.length < before) await follow();
    const dropped = async () => {
      const { rows } = await pool.query<{ dropped: boolean }>(
        `select drop_event_partition(min(from_id)) as dropped from event_partitions`,
      );
      await follow();
      return rows[0]?.dropped === true;
    };
    await eventually(dropped, 'the oldest partition is removed');
  }
  isOver = true;
  await writing;
  await eventually(follow, 'the rest is read');
  expect(got).toEqual(Array.from({ length: written }, (_, n) => n + 1));
}, 60_000);
