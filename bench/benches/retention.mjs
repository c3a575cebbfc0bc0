import { dayMs, writeEventDays } from '../harness/event-days.mjs';
import { format, secondsOf } from '../harness/figures.mjs';
import { withDatabase } from '../harness/item-jobs.mjs';
import { insertTenants, openKernel } from '../harness/kernel.mjs';
import { flushWrites } from '../harness/postgres.mjs';
import { tenantId } from '../harness/sluice.mjs';

const days = 30;
const tenants = 100;
const writers = 4;
const task = 'purge_events';
/** As long as the writers write alone, for comparison. */
const aloneMs = 5_000;
const purging = 'Sluice, while a day is removed';
const alone = 'Sluice, writers alone';
const maxSeconds = 1;
const maxStallMs = 200;
const maxRuns = 1_000;
/** The writers write before and after the task too. */
const aroundMs = 500;

export const bench = {
  name: 'retention',
  title: 'Removing a day from the event log',
  about: `
An event log of ${days} days, the same number of events for each. ${writers} writers append events, each in a transaction of its own,
one after the other. Each round runs the upkeep task \`${task}\` with a retention that leaves the oldest day out, again and
again until none of its events is left, as the task's schedule would.

"Removed" is the time of the task's runs together. "Longest stall" is the longest time that one append of a writer took
meanwhile; beside it the same without the task. The size is the number of events in the log.`,
  size: 10_000_000,
  metrics: [
    { key: 'seconds', title: 'removed s', better: 'less' },
    { key: 'runs', title: 'runs of the task', better: 'less', inChart: false },
    { key: 'stallMs', title: 'longest stall ms', better: 'less' },
    { key: 'perSecond', title: 'events/s written', better: 'more', inChart: false },
  ],
  async open({ server, size, rounds }) {
    if (rounds >= days) throw new Error(`Each round removes one of ${days} days; --rounds is ${rounds}`);
    const database = await server.sluiceDatabase();
    await insertTenants(database, tenants);
    const now = await writeEventDays(database, { days, count: size, tenants });
    await flushWrites(database);
    return {
      contenders: [
        { label: alone, measure: () => measureAlone(database) },
        { label: purging, measure: (round) => measurePurge(database, { now, keptDays: days - round }) },
      ],
    };
  },
  targets: [
    {
      text: `a day is removed in less than ${maxSeconds} s`,
      judge(figureOf) {
        const seconds = figureOf(purging, 'seconds');
        return { reached: seconds < maxSeconds, figure: `${format(seconds)} s` };
      },
    },
    {
      text: `no writer waits longer than ${maxStallMs} ms meanwhile`,
      judge(figureOf) {
        const ms = figureOf(purging, 'stallMs');
        return {
          reached: ms <= maxStallMs,
          figure: `${format(ms)} ms, alone ${format(figureOf(alone, 'stallMs'))} ms`,
        };
      },
    },
  ],
};

async function measureAlone(database) {
  const { stallMs, perSecond } = await besideWriters(database, () => wait(aloneMs));
  return { seconds: null, runs: null, stallMs, perSecond };
}

async function measurePurge(database, { now, keptDays }) {
  const { kernelTasks } = await import('../../dist/modules/kernel/upkeep/tasks.js');
  const limit = new Date(now - keptDays * dayMs);
  if (!(await hasOlder(database, limit)))
    throw new Error(`No event is older than ${keptDays} days; there is nothing to remove`);
  return withDatabase(database, async (db) => {
    const options = { db, eventRetentionDays: keptDays, jobRetentionDays: 90 };
    const purge = kernelTasks(options).find(({ name }) => name === task);
    if (!purge) throw new Error(`The kernel has no upkeep task ${task}`);
    const total = { seconds: 0, runs: 0, stallMs: 0, perSecond: 0 };
    do {
      if (total.runs === maxRuns) throw new Error(`After ${maxRuns} runs of ${task} the day is still there`);
      let seconds = 0;
      const { stallMs, perSecond } = await besideWriters(database, async () => {
        await wait(aroundMs);
        seconds = await secondsOf(() => purge.run());
        await wait(aroundMs);
      });
      total.seconds += seconds;
      total.runs += 1;
      total.stallMs = Math.max(total.stallMs, stallMs);
      total.perSecond = perSecond;
    } while (await hasOlder(database, limit));
    return total;
  });
}

/** Asked while nobody writes: without an index on the time it reads the whole log. */
async function hasOlder(database, limit) {
  const [row] = await database.query('select 1 as found from events where occurred_at < $1 limit 1', [limit]);
  return row !== undefined;
}

/** Writers append while `work` runs; returns the longest time of one append, and their rate. */
async function besideWriters(database, work) {
  const { recordEvent } = await import('../../dist/modules/kernel/events/service.js');
  const { kernel, close } = await openKernel({ appUrl: database.appUrl });
  const event = { tenantId, type: 'bench.written', subject: 'bench', data: { number: 1 } };
  let isOver = false;
  let written = 0;
  let stallMs = 0;
  const append = () => kernel.db.tenant(tenantId, (tx) => recordEvent(kernel, tx, event));
  const write = async () => {
    // The connection is not measured.
    await append();
    while (!isOver) {
      const startedAtMs = performance.now();
      await append();
      stallMs = Math.max(stallMs, performance.now() - startedAtMs);
      written += 1;
    }
  };
  try {
    const writing = Promise.all(Array.from({ length: writers }, write));
    const seconds = await secondsOf(work).finally(() => {
      isOver = true;
    });
    await writing;
    return { stallMs, perSecond: written / seconds };
  } finally {
    await close();
  }
}

function wait(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
