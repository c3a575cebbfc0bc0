import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { findPgBouncer, type PgBouncer, startPgBouncer } from '../support/fakes/pgbouncer.ts';
import { useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { useFleet } from './use-fleet.ts';

const program = findPgBouncer();
if (program === null)
  console.log(
    'Left out: the kernel behind pgbouncer. There is no pgbouncer here (Debian: apt-get install pgbouncer).',
  );

// Long enough for a slow machine.
const longLeases = { leaseMs: 30_000 };

test('pgbouncer is installed where no test may be left out', () => {
  expect(program !== null || process.env.CI !== 'true').toBe(true);
});

if (program !== null) {
  describe('behind pgbouncer in transaction mode', () => behindPgBouncer(program));
}

function behindPgBouncer(bouncerProgram: string): void {
  const database = useDatabase();
  const workers = useFleet(database);
  let bouncer: PgBouncer | undefined;
  beforeAll(async () => {
    bouncer = await startPgBouncer({ program: bouncerProgram, databaseUrl: database.appUrl });
  });
  afterAll(() => bouncer?.stop());
  afterEach(async () => {
    for (const worker of workers.fleet.living) await workers.fleet.kill(worker);
  });

  const pooled = (): string => bouncer?.url ?? '';

  async function guardOf(workerId: string | null): Promise<string | undefined> {
    const [row] = await database.owner<{ guard: string }>(
      'select guarded_by as guard from workers where worker_id = $1',
      [workerId],
    );
    return row?.guard;
  }

  test('a hundred jobs finish, each slice once, with workers whose leases only expire', async () => {
    const first = await workers.fleet.start({ appUrl: pooled(), directUrl: pooled() });
    const second = await workers.fleet.start({ appUrl: pooled(), directUrl: pooled() });
    expect([await guardOf(first.workerId), await guardOf(second.workerId)]).toEqual(['expiry', 'expiry']);
    const jobs = await Promise.all(
      Array.from({ length: 100 }, () =>
        workers.dispatch([
          { do: 'work', ms: 5 },
          { do: 'work', ms: 20 },
        ]),
      ),
    );
    await eventually(
      async () => (await workers.statusesOf(jobs)).every((status) => status === 'success'),
      'all jobs are finished',
      60_000,
    );
    for (const job of jobs) expect(await workers.stepsOf(job)).toEqual([0, 1]);
  });

  test('a killed worker is detected when its leases expire, and its job runs elsewhere', async () => {
    const doomed = await workers.fleet.start({ appUrl: pooled(), directUrl: pooled(), leaseMs: 5_000 });
    // It never ends, however long its successor takes to start; the next worker reads another script.
    const job = await workers.dispatch([{ do: 'work', ms: 600_000 }]);
    await eventually(async () => doomed.busyWith.size === 1, 'the job has begun');
    await database.owner(`update ingestion_jobs set payload = '{}' where job_id = $1`, [job.jobId]);
    const heir = await workers.fleet.start({ appUrl: pooled(), directUrl: pooled(), ...longLeases });
    await workers.fleet.kill(doomed);
    await eventually(async () => (await workers.statusesOf([job]))[0] === 'success', 'the job is finished');
    expect(await workers.rescuesOf(job)).toEqual([{ cause: 'expiry', workerId: doomed.workerId }]);
    expect(
      await database.owner('select step, worker from probe_effects where job_id = $1', [job.jobId]),
    ).toEqual([{ step: 0, worker: String(heir.pid) }]);
  });

  test('a direct URL beside the pooler gives the worker its lock', async () => {
    const urls = { appUrl: pooled(), directUrl: database.appUrl };
    const worker = await workers.fleet.start({ ...urls, ...longLeases });
    expect(worker.guardedBy).toBe('lock');
    expect(await guardOf(worker.workerId)).toBe('lock');
    const job = await workers.dispatch([{ do: 'work', ms: 600_000 }]);
    await eventually(async () => (await workers.holderOf(job)) === worker.workerId, 'the job has begun');
    const heir = await workers.fleet.start({ ...urls, ...longLeases });
    await workers.fleet.kill(worker);
    await eventually(async () => (await workers.holderOf(job)) === heir.workerId, 'the job runs elsewhere');
    expect(await workers.rescuesOf(job)).toEqual([{ cause: 'lock', workerId: worker.workerId }]);
  });
}
