import type { Registry } from 'prom-client';
import { newId } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { Database } from '../../lib/postgres/db.ts';
import { Claimer } from './claimer.ts';
import { type CycleReport, type CycleScope, runCycle } from './cycle.ts';
import { type KickoffReport, kickOff } from './kickoff.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import { Membership } from './membership.ts';
import { JobMetrics } from './metrics.ts';
import { PipelineRegistry } from './pipeline-registry.ts';
import { Quotas } from './quotas.ts';
import { Rescuer } from './rescuer.ts';
import type { JobsDeps } from './service.ts';
import { SliceRunner } from './slice-runner.ts';
import type { Pipeline } from './types.ts';
import { WakeUp } from './wake-up.ts';
import { Worker } from './worker.ts';

export interface KernelOptions {
  /** Given when others announce something too; otherwise the kernel creates its own. */
  wake?: WakeUp;
  /** Given when the database's sessions are named after it. */
  workerId?: string;
  db: Database;
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

/** What a house provides for its jobs. */
export interface JobGuest {
  pipeline?: Pipeline;
  /** Frees what dead workers held besides leases. */
  onWorkersLost?(workerIds: string[]): Promise<void>;
  /** Creates the jobs that are due: where only a cron runs, nothing else would. */
  beforeCycle?(scope: CycleScope): Promise<unknown>;
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
  readonly #keeper: LeaseKeeper;
  readonly #rescuer: Rescuer;
  readonly #runner: SliceRunner;
  readonly #claimer: Claimer;
  readonly #concurrency: number;
  readonly #guests: JobGuest[] = [];
  readonly #worker: Worker;
  #isWorking = false;

  constructor(options: KernelOptions) {
    const { db, logger, leaseMs, heartbeatMs, concurrency } = options;
    this.db = db;
    this.#concurrency = concurrency;
    this.quotas = new Quotas({ db, maxQueued: options.maxQueued });
    this.wake = options.wake ?? new WakeUp(db);
    this.metrics = new JobMetrics(options.registry);
    this.registry = new PipelineRegistry(options.pipelines);
    const { workerId = newId() } = options;
    this.membership = new Membership({ ...options, workerId, wake: this.wake });
    const { metrics, wake, registry } = this;
    this.#keeper = new LeaseKeeper({ db, logger, workerId, leaseMs, heartbeatMs });
    this.#rescuer = new Rescuer({
      db,
      wake,
      logger,
      metrics,
      leaseMs,
      maxStrikes: options.maxStrikes,
      onLost: async (workerIds) => {
        for (const guest of this.#guests) await guest.onWorkersLost?.(workerIds);
      },
    });
    this.#runner = new SliceRunner({
      db,
      keeper: this.#keeper,
      registry,
      wake,
      logger,
      metrics,
      leaseMs,
      workerId,
    });
    this.#claimer = new Claimer({ db, metrics, workerId, leaseMs, tenantLimit: options.tenantLimit });
    this.#worker = new Worker({
      claimer: this.#claimer,
      keeper: this.#keeper,
      membership: this.membership,
      registry,
      rescuer: this.#rescuer,
      runner: this.#runner,
      wake,
      logger,
      concurrency,
      pollMs: options.pollMs,
    });
    this.membership.onLost(() => this.#runner.abortTurns('the guard connection of this worker was lost'));
    this.membership.onLost(() => this.#keeper.abortAll('the guard connection of this worker was lost'));
  }

  /** What the services of jobs need. */
  get jobs(): JobsDeps {
    const { db, registry, wake, metrics, quotas } = this;
    return { db, registry, wake, metrics, quotas };
  }

  /** Before `start`: a process claims only jobs of pipelines that it knows. */
  install(guest: JobGuest): void {
    if (guest.pipeline) this.registry.add(guest.pipeline);
    this.#guests.push(guest);
  }

  /** Enters this process as a worker, so that it may hold leases; with `work` it also takes jobs by itself. */
  async start({ work }: { work: boolean }): Promise<void> {
    await this.membership.start();
    this.#keeper.start();
    this.#rescuer.start();
    this.#isWorking = work;
    if (work) this.#worker.start();
  }

  async stop(graceMs: number): Promise<void> {
    this.#rescuer.stop();
    if (this.#isWorking) await this.#worker.stop(graceMs);
    this.#keeper.stop();
    await this.#keeper.beat();
    await this.membership.stop();
  }

  cycle(options: { budgetMs: number; signal?: AbortSignal } & CycleScope): Promise<CycleReport> {
    return runCycle(
      {
        claimer: this.#claimer,
        registry: this.registry,
        rescuer: this.#rescuer,
        runner: this.#runner,
        concurrency: this.#concurrency,
        prepare: async (scope) => {
          for (const guest of this.#guests) await guest.beforeCycle?.(scope);
        },
      },
      options,
    );
  }

  kickOff(request: { tenantId: string; jobId: string; durationMs: number }): Promise<KickoffReport> {
    return kickOff(
      { db: this.db, claimer: this.#claimer, registry: this.registry, runner: this.#runner },
      request,
    );
  }
}
