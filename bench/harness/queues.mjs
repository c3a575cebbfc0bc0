// Queues that are measured alike: fill, flush, start the processes, and drain. harness/peers.mjs has the others.
import { drain } from './drain.mjs';
import { inFlight, numbersTo } from './in-flight.mjs';
import { dispatchTo, fillQueue, insertTenants, openKernel } from './kernel.mjs';
import { flushWrites, withClient } from './postgres.mjs';
import { tenantId } from './sluice.mjs';

/** How many calls of an application that enqueues one job at a time are under way. */
export const callers = 8;

/**
 * A queue has: `program`, its process; `create(server, best)`, a database with an empty queue; `fill`, many at a time;
 * `openEnqueue`, one at a time; `countLeft`, a query; `connection`, what its process is told about the database.
 */
export const sluiceQueue = {
  program: 'kernel-worker.mjs',
  async create(server) {
    const database = await server.sluiceDatabase();
    await insertTenants(database, 1);
    return database;
  },
  fill: (database, { count }) => fillQueue(database, { count }),
  async openEnqueue(database) {
    const { kernel, close } = await openKernel({ appUrl: database.appUrl });
    return { enqueue: (subjectId) => dispatchTo(kernel, { tenantId, subjectId }), close };
  },
  countLeft: `select count(*)::int as left from ingestion_jobs where status <> 'success'`,
  connection: ({ appUrl }) => ({ appUrl }),
  /** A drain without its audit log is not what is measured here. */
  async check(database, count) {
    const [{ completed }] = await database.query(
      `select count(*)::int as completed from events where type = 'job.completed'`,
    );
    if (completed !== count)
      throw new Error(`${completed} of ${count} jobs have an event that says they are done`);
  },
};

/** Jobs per second. With an effect, each job writes a row; `payloadOf` makes the payload of a peer's job. */
export async function drainQueue(queue, { server, size }, { processes, best, effect = null, payloadOf }) {
  const database = await queue.create(server, best);
  try {
    if (effect) await createEffectTable(database);
    await queue.fill(database, { count: size, payloadOf });
    await flushWrites(database);
    const rate = await drainFilled(queue, database, { processes, best, effect, count: size });
    await queue.check?.(database, size);
    return rate;
  } finally {
    await database.drop();
  }
}

/** WAL per job, in bytes: enqueued one at a time, as an application does it, and then drained by one process. */
export async function walPerJob(queue, { server }, { best, effect = null, count }) {
  const database = await queue.create(server, best);
  try {
    if (effect) await createEffectTable(database);
    await flushWrites(database);
    const from = await readWal(database);
    const { enqueue, close } = await queue.openEnqueue(database);
    try {
      await inFlight(callers, numbersTo(count), () => enqueue(crypto.randomUUID()));
    } finally {
      await close();
    }
    await drainFilled(queue, database, { processes: 1, best, effect, count });
    const to = await readWal(database);
    await queue.check?.(database, count);
    return Number(to - from) / count;
  } finally {
    await database.drop();
  }
}

async function drainFilled(queue, database, { processes, best, effect, count }) {
  const settings = { ...queue.connection(database), best, effect };
  const rate = await withCounter(database, queue.countLeft, (left) =>
    drain({ program: queue.program, processes, settings, count, left }),
  );
  if (effect) await checkEffects(database, count);
  return rate;
}

/** One connection for all the counting, so that connecting is not part of the last milliseconds. */
function withCounter(database, text, work) {
  return withClient(database.ownerUrl, (client) => work(async () => (await client.query(text)).rows[0].left));
}

async function createEffectTable(database) {
  await database.query(
    `create table effects (
       effect_id bigint generated always as identity primary key,
       subject_id text not null,
       written_at timestamptz not null default clock_timestamp())`,
  );
  await database.query(
    `do $$ begin
       if exists (select from pg_roles where rolname = 'sluice_tenant') then
         grant insert on effects to sluice_tenant;
       end if;
     end $$`,
  );
}

async function checkEffects(database, count) {
  const [{ written }] = await database.query('select count(*)::int as written from effects');
  if (written < count) throw new Error(`${count} jobs are done, but only ${written} rows were written`);
}

async function readWal(database) {
  const [{ lsn }] = await database.query(`select (pg_current_wal_insert_lsn() - '0/0')::text as lsn`);
  return BigInt(lsn);
}
