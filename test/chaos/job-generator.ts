import { setTimeout as pause } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { Quotas } from '../../src/kernel/jobs/dispatch/quotas.ts';
import { dispatch, type JobsDeps } from '../../src/kernel/jobs/dispatch/service.ts';
import { JobMetrics } from '../../src/kernel/jobs/metrics.ts';
import { PipelineRegistry } from '../../src/kernel/jobs/pipeline-registry.ts';
import { WakeUp } from '../../src/kernel/jobs/wake-up.ts';
import { isSluiceError } from '../../src/lib/errors.ts';
import { Database } from '../../src/lib/postgres/db.ts';
import { type ProbeStep, probePipeline } from '../support/worlds/probe-pipeline.ts';
import type { SeededRandom } from './seeded-random.ts';

export interface DispatchedJob {
  tenantId: string;
  steps: number;
}

export interface JobGenerator {
  /** What was acknowledged, by job id: the ledger that the database is compared with. */
  readonly dispatched: ReadonlyMap<string, DispatchedJob>;
  /** Dispatches until so many jobs are acknowledged. */
  dispatchUpTo(count: number): Promise<void>;
  close(): Promise<void>;
}

type FindJob = (key: { tenantId: string; subjectId: string }) => Promise<string | null>;

/** Dispatches jobs of one to four slices through every fault, and remembers each that was acknowledged. */
export function openGenerator(options: {
  appUrl: string;
  tenants: string[];
  random: SeededRandom;
  findJob: FindJob;
}): JobGenerator {
  const db = new Database({ url: options.appUrl, applicationName: 'sluice-generator', maxConnections: 2 });
  const deps: JobsDeps = {
    db,
    registry: new PipelineRegistry([probePipeline()]),
    wake: new WakeUp(db),
    metrics: new JobMetrics(new Registry()),
    quotas: new Quotas({ db, maxQueued: 1_000_000 }),
  };
  const dispatched = new Map<string, DispatchedJob>();
  const dispatchSome = async (count: number): Promise<void> => {
    while (dispatched.size < count) {
      const tenantId = options.random.pick(options.tenants) ?? '';
      const steps = randomSteps(options.random);
      const subjectId = `subject-${dispatched.size}`;
      const jobId = await dispatchSurely(deps, { tenantId, subjectId, steps, findJob: options.findJob });
      dispatched.set(jobId, { tenantId, steps: steps.length });
    }
  };
  // One after the other: two at once would give two jobs the same subject.
  let line: Promise<void> = Promise.resolve();
  return {
    dispatched,
    dispatchUpTo(count) {
      line = line.then(() => dispatchSome(count));
      return line;
    },
    close: () => db.close(),
  };
}

/** A few milliseconds to 300 each. */
function randomSteps(random: SeededRandom): ProbeStep[] {
  return Array.from({ length: 1 + random.below(4) }, () => ({ do: 'work', ms: 3 + random.below(298) }));
}

/** Like a careful client: after a lost response it checks before it asks again. */
async function dispatchSurely(
  deps: JobsDeps,
  wish: { tenantId: string; subjectId: string; steps: ProbeStep[]; findJob: FindJob },
): Promise<string> {
  const { tenantId, subjectId, steps } = wish;
  const job = { pipeline: 'probe', subjectId, maxRetries: 5, createdBy: 'generator', payload: { steps } };
  for (let attempt = 1; ; attempt += 1) {
    try {
      return (await dispatch(deps, tenantId, job)).jobId;
    } catch (error) {
      const isLost = isSluiceError(error) && ['database_unavailable', 'commit_unknown'].includes(error.code);
      if (!isLost || attempt === 100) throw error;
      await pause(50);
      const found = await wish.findJob({ tenantId, subjectId }).catch(() => null);
      if (found !== null) return found;
    }
  }
}
