import { openBegins } from '../harness/begins.mjs';
import { startContender } from '../harness/children.mjs';
import { format, msBetween, percentile } from '../harness/figures.mjs';
import { dispatchTo, insertTenants, openKernel } from '../harness/kernel.mjs';
import { tenantId } from '../harness/sluice.mjs';

const label = 'Sluice';

export const bench = {
  name: 'rescue',
  title: "A killed worker's job runs elsewhere",
  about: `
Two worker processes with the default lease of ten seconds. One begins a job and is killed with SIGKILL in the
middle of it; the clock stops when the other one begins the same job. A new process replaces the dead one before the
next kill. The lock that a worker holds on a connection of its own gives a dead one away, seconds before its lease
would have expired. The same under load and beside every other fault is printed by \`npm run chaos\`.`,
  size: 30,
  metrics: [
    { key: 'p50', title: 'p50 ms', better: 'less' },
    { key: 'p99', title: 'p99 ms', better: 'less' },
    { key: 'max', title: 'max ms', better: 'less' },
  ],
  async open({ server, size }) {
    return { contenders: [{ label, measure: () => measure(server, size) }] };
  },
  targets: [
    { key: 'p50', limitMs: 1_000 },
    { key: 'p99', limitMs: 5_000 },
    { key: 'max', limitMs: 10_000 },
  ].map(({ key, limitMs }) => ({
    text: `${key} within ${limitMs / 1000} s`,
    judge(figureOf) {
      const ms = figureOf(label, key);
      return { reached: ms <= limitMs, figure: `${format(ms)} ms` };
    },
  })),
};

async function measure(server, kills) {
  const database = await server.sluiceDatabase();
  await insertTenants(database, 1);
  const begins = openBegins();
  const fleet = new Map();
  const startWorker = async () => {
    const settings = { appUrl: database.appUrl, tellsBegin: true, holdsFirst: true };
    const worker = await startContender('kernel-worker.mjs', settings, begins.hear);
    fleet.set(worker.child.pid, worker);
  };
  const { kernel, close } = await openKernel({ appUrl: database.appUrl });
  try {
    await startWorker();
    await startWorker();
    const timesMs = [];
    for (let kill = 0; kill < kills; kill += 1) {
      timesMs.push(await killOne({ kernel, begins, fleet }));
      await startWorker();
    }
    await checkRescues(database, kills);
    return { p50: percentile(timesMs, 0.5), p99: percentile(timesMs, 0.99), max: Math.max(...timesMs) };
  } finally {
    await close();
    await Promise.all([...fleet.values()].map((worker) => worker.stop()));
    await database.drop();
  }
}

async function killOne({ kernel, begins, fleet }) {
  const subjectId = crypto.randomUUID();
  const begin = begins.next(subjectId);
  await dispatchTo(kernel, { tenantId, subjectId });
  const { child } = await begin;
  const beginElsewhere = begins.next(subjectId);
  const fromNs = process.hrtime.bigint();
  child.kill('SIGKILL');
  const { atNs } = await beginElsewhere;
  fleet.delete(child.pid);
  return msBetween(fromNs, atNs);
}

async function checkRescues(database, kills) {
  const [{ rescued }] = await database.query(
    `select count(*)::int as rescued from events where type = 'job.rescued'`,
  );
  if (rescued < kills) throw new Error(`${kills} workers were killed, but only ${rescued} jobs rescued`);
}
