import pino from 'pino';
import { Registry } from 'prom-client';
import { afterAll, beforeAll } from 'vitest';
import { Kernel, type KernelOptions } from '../../../src/kernel/jobs/kernel.ts';
import type { TestDatabase } from './database.ts';
import { type ProbeHooks, probePipeline, probeTable } from './probe-pipeline.ts';

export function testKernel(
  database: TestDatabase,
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

/** A kernel that holds leases but takes no job by itself: tests drive it by cycle and kickoff. */
export function useKernel(
  database: TestDatabase,
  options: Partial<KernelOptions> & { hooks?: ProbeHooks } = {},
) {
  let kernel: Kernel | undefined;
  beforeAll(async () => {
    await database.owner(probeTable);
    kernel = testKernel(database, options);
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
