import { createHash } from 'node:crypto';
import type { Registry } from 'prom-client';
import { newId } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { Database } from '../../lib/postgres/db.ts';
import { Elections } from '../elections/elections.ts';
import type { Office } from '../elections/office.ts';
import { Quotas } from './dispatch/quotas.ts';
import type { JobsDeps } from './dispatch/service.ts';
import { Claimer } from './lease/claimer.ts';
import { LeaseKeeper } from './lease/lease-keeper.ts';
import { Membership } from './lease/membership.ts';
import { Rescuer } from './lease/rescuer.ts';
import { JobMetrics } from './metrics.ts';
import { PipelineRegistry } from './pipeline-registry.ts';
import { type CycleDeps, type CycleReport, type CycleScope, runCycle } from './run/cycle.ts';
import { type KickoffReport, kickOff } from './run/kickoff.ts';
import { Settler } from './run/settler.ts';
import { SliceRunner } from './run/slice-runner.ts';
import { Worker } from './run/worker.ts';
import type { Pipeline } from './types.ts';
import { WakeUp } from './wake-up.ts';

export interface KernelOptions {
  /** Given when others announce something too; otherwise the kernel creates its own. */
  wake?: WakeUp;
  /** Given when the database's sessions are named after it. */
  workerId?: string;
  db: Database;
  /** A URL that reaches PostgreSQL itself, not a pooler, if there is one. */
  directUrl: string;
  logger: Logger;
  registry: Registry;
  pipelines?: readonly Pipeline[];
  version: string;
  leaseMs: number;
  heartbeatMs: number;
  pollMs: number;
  concurrency: number;
  tenantLimit: number;
  maxStrikes: number;
  /** How many jobs of one tenant may wait, unless its own limits say otherwise. */
  maxQueued: number;
}

/** The parts of a kernel, from which each part takes those that it needs. */
export interface KernelParts extends Omit<KernelOptions, 'registry' | 'pipelines'> {
  /** The boot id: a restarted process is another worker. */
  workerId: string;
  wake: WakeUp;
  metrics: JobMetrics;
  registry: PipelineRegistry;
  membership: Membership;
  keeper: LeaseKeeper;
  settler: Settler;
  runner: SliceRunner;
  rescuer: Rescuer;
  claimer: Claimer;
}

/** What a house provides for its jobs. */
export interface JobGuest {
  pipeline?: Pipeline;
  /** Instead of one, where others define them. */
  pipelines?: readonly Pipeline[];
  /** Frees what dead workers held besides leases. */
  onWorkersLost?(workerIds: string[]): Promise<void>;
  /** Creates the jobs that are due: where only a cron runs, nothing else would. */
  beforeCycle?(scope: CycleScope): Promise<unknown>;
}

export function pipelinesOf({ pipeline, pipelines = [] }: JobGuest): readonly Pipeline[] {
  return pipeline ? [pipeline, ...pipelines] : pipelines;
}

/**
 * The parts of the kernel in one process, wired. Every process that advances jobs has one, be it a worker, a server
 * that only serves kickoffs, or a cron that runs one cycle.
 */
export class Kernel {
  readonly db: Database;
  readonly wake: WakeUp;
  readonly metrics: JobMetrics;
  readonly registry: PipelineRegistry;
  readonly membership: Membership;
  readonly quotas: Quotas;
  /** Of everything that one process of all does. */
  readonly elections: Elections;
  readonly #parts: KernelParts & CycleDeps;
  readonly #guests: JobGuest[] = [];
  readonly #worker: Worker;
  #isWorking = false;
  #struckJobs: Office | null = null;

  constructor({ registry: prometheus, pipelines, wake, workerId = newId(), ...options }: KernelOptions) {
    const { db } = options;
    this.db = db;
    this.quotas = new Quotas(options);
    this.wake = wake ?? new WakeUp(db);
    this.metrics = new JobMetrics(prometheus);
    this.registry = new PipelineRegistry(pipelines);
    const { metrics, registry } = this;
    const base = { ...options, workerId, wake: this.wake, metrics, registry };
    this.membership = new Membership(base);
    this.elections = new Elections({ ...options, registry: prometheus, candidate: workerId });
    const keeper = new LeaseKeeper(base);
    const settler = new Settler(base);
    const runner = new SliceRunner({ ...base, keeper, settler });
    const onLost = async (workerIds: string[]) => {
      for (const guest of this.#guests) await guest.onWorkersLost?.(workerIds);
    };
    const prepare = async (scope: CycleScope) => {
      for (const guest of this.#guests) await guest.beforeCycle?.(scope);
    };
    const rescuer = new Rescuer({ ...base, onLost });
    const claimer = new Claimer(base);
    this.#parts = {
      ...base,
      membership: this.membership,
      keeper,
      settler,
      runner,
      rescuer,
      claimer,
      prepare,
    };
    this.#worker = new Worker({ ...this.#parts, runsStruck: () => this.#struckJobs?.isHeld ?? false });
    this.membership.onLost(() => runner.cutOffTurns());
    this.membership.onLost(() => keeper.abortAll('the guard connection of this worker was lost'));
  }

  /** What the services of jobs need. */
  get jobs(): JobsDeps {
    const { db, registry, wake, metrics, quotas } = this;
    return { db, registry, wake, metrics, quotas, reserve: () => this.#worker.reserve() };
  }

  /** Before `start`: a process claims only jobs of pipelines that it knows. */
  install(guest: JobGuest): void {
    for (const pipeline of pipelinesOf(guest)) this.registry.add(pipeline);
    this.#guests.push(guest);
  }

  /** Enters this process as a worker, so that it may hold leases; with `work` it also takes jobs by itself. */
  async start({ work }: { work: boolean }): Promise<void> {
    await this.membership.start({ work });
    this.#parts.keeper.start();
    const { elections } = this;
    this.#parts.rescuer.start(elections.office('rescue'));
    if (work) this.#struckJobs = elections.office(struckJobsOffice(this.registry.all));
    elections.start();
    this.#isWorking = work;
    if (work) this.#worker.start();
  }

  async stop(graceMs: number): Promise<void> {
    const { keeper, rescuer } = this.#parts;
    rescuer.stop();
    await this.elections.stop();
    if (this.#isWorking) await this.#worker.stop(graceMs);
    keeper.stop();
    await keeper.beat();
    await this.membership.stop();
  }

  cycle(options: { budgetMs: number; signal?: AbortSignal } & CycleScope): Promise<CycleReport> {
    return runCycle(this.#parts, options);
  }

  kickOff(request: { tenantId: string; jobId: string; durationMs: number }): Promise<KickoffReport> {
    return kickOff(this.#parts, request);
  }
}

/**
 * Jobs that have to run alone are run by one process of those that take jobs of the same pipelines: a holder that does
 * not know a pipeline would leave its jobs waiting for ever.
 */
function struckJobsOffice(pipelines: readonly string[]): string {
  const digest = createHash('sha256')
    .update([...pipelines].sort().join('\n'))
    .digest('hex');
  return `struck_jobs/${digest.slice(0, 8)}`;
}
