import { afterEach, expect, test } from 'vitest';
import { useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { useFleet } from './use-fleet.ts';
import type { WorkerProcess } from './worker-fleet.ts';

const database = useDatabase();
const workers = useFleet(database);

afterEach(async () => {
  for (const worker of workers.fleet.living) {
    worker.child.kill('SIGCONT');
    await workers.fleet.kill(worker);
  }
});

interface Term {
  holder: string;
  term: number;
  electedAtMs: number;
  isRunning: boolean;
}

async function rescueTerm(): Promise<Term | undefined> {
  const [row] = await database.owner<Term>(
    `select holder, term::float8 as term, (extract(epoch from elected_at) * 1000)::float8 as "electedAtMs",
            expires_at > clock_timestamp() as "isRunning"
       from offices
      where office = 'rescue'`,
  );
  return row;
}

async function databaseMs(): Promise<number> {
  const [row] = await database.owner<{ ms: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
  );
  return row?.ms ?? 0;
}

async function startFleet(count: number): Promise<void> {
  const settings = { appUrl: database.appUrl, directUrl: database.appUrl };
  await Promise.all(Array.from({ length: count }, () => workers.fleet.start(settings)));
}

async function untilHeld(): Promise<{ worker: WorkerProcess; term: Term }> {
  let found: { worker: WorkerProcess; term: Term } | undefined;
  const isHeld = async () => {
    const term = await rescueTerm();
    const worker = workers.fleet.living.find(({ workerId }) => workerId === term?.holder);
    if (term?.isRunning && worker) found = { worker, term };
    return found !== undefined;
  };
  await eventually(isHeld, 'a living worker is elected to rescue');
  if (!found) throw new Error('No worker is elected');
  return found;
}

/** Does that to the holder, and returns how long the office was without one by the database's clock. */
async function takeoverAfter(harm: (worker: WorkerProcess) => void): Promise<number> {
  const { worker, term } = await untilHeld();
  const harmedAtMs = await databaseMs();
  harm(worker);
  let next: Term | undefined;
  const isReplaced = async () => {
    next = await rescueTerm();
    return next !== undefined && next.term > term.term && next.holder !== worker.workerId;
  };
  await eventually(isReplaced, 'another worker is elected');
  return (next?.electedAtMs ?? 0) - harmedAtMs;
}

// A second is promised; a busy machine may take longer, but never as long as a lease or a poll of all would.
const generousMs = 10_000;

test.each([
  ['killed', 'SIGKILL'],
  ['stopped', 'SIGSTOP'],
  ['asked to end', 'SIGTERM'],
] as const)(
  'when the elected worker is %s, another one takes over',
  async (_, signal) => {
    await startFleet(4);
    const gaps: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      gaps.push(await takeoverAfter((worker) => worker.child.kill(signal)));
    }
    console.log(`Takeover after ${signal}: ${gaps.map((ms) => `${Math.round(ms)} ms`).join(', ')}`);
    expect(Math.max(...gaps)).toBeLessThan(generousMs);
    await expect(untilHeld()).resolves.toBeDefined();
  },
  180_000,
);

test('a job whose worker dies goes on elsewhere, whoever is elected to rescue', async () => {
  await startFleet(3);
  const { worker } = await untilHeld();
  const jobs: Awaited<ReturnType<typeof workers.dispatch>>[] = [];
  // Which worker is woken for a job is drawn by lot: as many as it takes until the elected one has some.
  await eventually(async () => {
    jobs.push(await workers.dispatch([{ do: 'work', ms: 3_000 }]));
    return worker.busyWith.size > 0;
  }, 'the elected worker has jobs');
  await workers.fleet.kill(worker);
  await eventually(
    async () => (await workers.statusesOf(jobs)).every((status) => status === 'success'),
    'all jobs are finished',
    60_000,
  );
}, 180_000);
