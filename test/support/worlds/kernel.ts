import pino from 'pino';
import { Registry } from 'prom-client';
import { afterAll, beforeAll } from 'vitest';
import type { OpenHouse } from '../../../src/kernel/house/house.ts';
import { type JobGuest, Kernel, type KernelOptions } from '../../../src/kernel/jobs/kernel.ts';
import type { Database } from '../../../src/lib/postgres/db.ts';
import type { TestDatabase } from './database.ts';
import { type ProbeHooks, probePipeline, probeTable } from './probe-pipeline.ts';

export function testKernel(
  database: Pick<TestDatabase, 'db' | 'appUrl'>,
  options: Partial<KernelOptions> & { hooks?: ProbeHooks } = {},
): Kernel {
  const { hooks, ...rest } = options;
  return new Kernel({
    db: database.db,
    directUrl: database.appUrl,
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    pipelines: [probePipeline(hooks)],
    version: 'test',
    leaseMs: 10_000,
    heartbeatMs: 2_000,
    pollMs: 200,
    concurrency: 4,
    tenantLimit: 1_000,
    maxStrikes: 3,
    maxQueued: 100_000,
    ...rest,
  });
}

/** A kernel that is never started: it neither connects nor works, but houses can stand on it. */
export function idleKernel(db: Database): Kernel {
  return testKernel({ db, appUrl: '' }, { pipelines: [] });
}

/**
 * A kernel that holds leases but takes no job by itself: tests drive it by cycle and kickoff. `houses` opens what
 * stands on it, once the database is there.
 */
export function useKernel(
  database: TestDatabase,
  options: Partial<KernelOptions> & { hooks?: ProbeHooks; houses?: (kernel: Kernel) => JobGuest[] } = {},
) {
  const { houses = () => [], ...rest } = options;
  let kernel: Kernel | undefined;
  beforeAll(async () => {
    await database.owner(probeTable);
    kernel = testKernel(database, rest);
    for (const house of houses(kernel)) kernel.install(house);
    await kernel.start({ work: false });
  });
  afterAll(() => kernel?.stop(1_000));
  return {
    get kernel(): Kernel {
      if (!kernel) throw new Error('The kernel is available only after beforeAll has run');
      return kernel;
    },
  };
}

/** A house on such a kernel, opened once the database is there. */
export function useHouse<House extends OpenHouse>(
  database: TestDatabase,
  make: (kernel: Kernel) => House,
  options: Partial<KernelOptions> = {},
) {
  let house: House | undefined;
  const held = useKernel(database, {
    pipelines: [],
    ...options,
    houses: (kernel) => {
      house = make(kernel);
      return [house];
    },
  });
  afterAll(() => house?.close?.());
  const open = (): House => {
    if (house === undefined) throw new Error('The house is there only once beforeAll has run');
    return house;
  };
  return { held, open };
}

export async function eventually(
  condition: () => Promise<boolean>,
  what: string,
  deadlineMs = 30_000,
): Promise<void> {
  const deadline = Date.now() + deadlineMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`Not within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
