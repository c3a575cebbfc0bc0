import { startContender, until } from '../harness/children.mjs';
import { format } from '../harness/figures.mjs';
import { holdSnapshot, holdWrite } from '../harness/held-transactions.mjs';
import { insertTenants } from '../harness/kernel.mjs';
import { flushWrites } from '../harness/postgres.mjs';

const ratePerSecond = 1_000;
const tenants = 10;
/** The parts of a run that the page shows: minutes, at its usual length. */
const slots = 10;
/** After the last dispatch; what is not done by then was not done in time. */
const graceMs = 5_000;
const control = 'Sluice, alone';
const snapshot = 'Sluice, beside a pinned snapshot';
const write = 'Sluice, beside an open write';
const leastShare = 0.95;
const mostTimes = 2;
const maxEventMs = 100;

export const bench = {
  name: 'held',
  title: 'Ten minutes beside a transaction that stays open',
  about: `
${format(ratePerSecond)} jobs per second for ten minutes, of ${tenants} tenants: a process dispatches them by its own clock, however long each
dispatch takes, a second one works on them, and a third one follows the events of all tenants as a server does for its
live streams. Once alone; once beside a reader that took its snapshot before the first job and keeps it, so that no dead
row can be removed; once beside a transaction that has written a row and stays open. Each has its own database.

"Done" are the jobs that ended before the time was over, of all that were due. "Pickup" is the time from the moment at
which a dispatch was due to the handler. "Event" is the time from the moment that \`job.completed\` carries, just before
its commit, to its delivery. A job that has not begun when the worker stops counts with the time that it has waited; an
event that arrives only after the held transaction has ended counts with its whole delay.

One round: each run is long enough to show its own spread, by tenths of the time, below. The size is in seconds.`,
  size: 600,
  rounds: 1,
  metrics: [
    { key: 'donePercent', title: 'done %', better: 'more' },
    { key: 'pickupP50', title: 'pickup p50 ms', better: 'less' },
    { key: 'pickupP99', title: 'pickup p99 ms', better: 'less' },
    { key: 'eventP50', title: 'event p50 ms', better: 'less' },
    { key: 'eventP99', title: 'event p99 ms', better: 'less' },
  ],
  async open(context) {
    const none = async () => async () => {};
    const contenders = [
      { label: control, hold: none },
      { label: snapshot, hold: holdSnapshot },
      { label: write, hold: holdWrite },
    ];
    return {
      contenders: contenders.map(({ label, hold }) => ({
        label,
        settings: context.settings.kernel,
        measure: () => measure(context, hold),
      })),
    };
  },
  targets: [control, snapshot, write].flatMap((label) => [
    {
      text: `${label.replace('Sluice, ', '')}: at least ${leastShare * 100} % of the rate`,
      judge(figureOf) {
        const percent = figureOf(label, 'donePercent');
        return { reached: percent >= leastShare * 100, figure: `${format(percent)} %` };
      },
    },
    ...(label === control ? [] : [pickupTarget(label)]),
    {
      text: `${label.replace('Sluice, ', '')}: event p99 at most ${maxEventMs} ms`,
      judge(figureOf) {
        const ms = figureOf(label, 'eventP99');
        return { reached: ms <= maxEventMs, figure: `${format(ms)} ms` };
      },
    },
  ]),
  details(series) {
    return ['By tenths of the time:', '', ...series.flatMap(slotTable)];
  },
};

function pickupTarget(label) {
  return {
    text: `${label.replace('Sluice, ', '')}: pickup p50 within ${mostTimes} times that alone`,
    judge(figureOf) {
      const times = figureOf(label, 'pickupP50') / figureOf(control, 'pickupP50');
      return { reached: times <= mostTimes, figure: `${format(times)} times` };
    },
  };
}

function slotTable({ label, rounds: [{ parts }] }) {
  const cell = (value) => (value === null ? '–' : format(value));
  const keys = ['due', 'pickupP50', 'pickupP99', 'eventP50', 'eventP99'];
  return [
    `| ${label} | jobs due | pickup p50 ms | pickup p99 ms | event p50 ms | event p99 ms |`,
    `| --- |${' ---: |'.repeat(keys.length)}`,
    ...parts.map((part, index) => `| ${index + 1} | ${keys.map((key) => cell(part[key])).join(' | ')} |`),
    '',
  ];
}

async function measure({ server, size: seconds, settings }, hold) {
  const database = await server.sluiceDatabase();
  await insertTenants(database, tenants);
  await flushWrites(database);
  const release = await hold(database);
  const total = ratePerSecond * seconds;
  const heard = {};
  const hear = (message) => {
    heard[message.is] = message;
  };
  const given = { appUrl: database.appUrl, tenants, total, slots, ratePerSecond, seconds };
  const children = [];
  const start = async (program, more = {}) => {
    const child = await startContender(program, { ...given, ...more }, hear);
    children.push(child);
    return child;
  };
  try {
    const follower = await start('held-follower.mjs');
    const worker = await start('held-worker.mjs', { best: settings.kernel });
    const generator = await start('held-generator.mjs');
    generator.go();
    const limitMs = seconds * 1000 + 60_000;
    await until('the generator has ended', () => heard.sent !== undefined, { everyMs: 100, limitMs });
    await finish({ database, worker, follower, release, heard });
    return await figuresOf({ database, heard, seconds, total });
  } finally {
    for (const child of children) await child.stop();
    await release();
    await database.drop();
  }
}

/** Stops the worker, waits for the events of all that it did, and lets the held transaction go if they need it. */
async function finish({ database, worker, follower, release, heard }) {
  await new Promise((resolve) => setTimeout(resolve, graceMs));
  worker.child.send('stop');
  await until('the worker has stopped', () => heard.pickups !== undefined);
  const [{ done }] = await database.query(
    `select count(*)::int as done from ingestion_jobs where status = 'success' and subject_id like '%/%'`,
  );
  const isComplete = () => {
    follower.child.send('count');
    return (heard.delivered?.count ?? 0) >= done;
  };
  const wait = (limitMs) => until(`${done} events were delivered`, isComplete, { everyMs: 100, limitMs });
  await wait(graceMs).catch(async () => {
    await release();
    await wait(60_000);
  });
  follower.child.send('stop');
  await until('the follower has reported', () => heard.deliveries !== undefined);
  if (heard.deliveries.twice > 0) throw new Error(`${heard.deliveries.twice} events were delivered twice`);
}

async function figuresOf({ database, heard, seconds, total }) {
  const { startedAtMs, refused } = heard.sent;
  if (refused.length > 0) console.log(`    refused: ${refused.map((each) => each.join(' ')).join(', ')}`);
  const [{ done }] = await database.query(
    `select count(*)::int as done
       from ingestion_jobs
      where status = 'success'
        and subject_id like '%/%'
        and finished_at <= to_timestamp($1::float8)`,
    [startedAtMs / 1000 + seconds],
  );
  const { pickups, deliveries } = heard;
  return {
    donePercent: (done / total) * 100,
    pickupP50: pickups.p50,
    pickupP99: pickups.p99,
    eventP50: deliveries.p50,
    eventP99: deliveries.p99,
    parts: pickups.slots.map(({ count, p50, p99 }, index) => ({
      due: count,
      pickupP50: p50,
      pickupP99: p99,
      eventP50: deliveries.slots[index].p50,
      eventP99: deliveries.slots[index].p99,
    })),
  };
}
