import { setTimeout } from 'node:timers/promises';
import type { ClaimedJob, Outcome } from '../../src/kernel/jobs/types.ts';
import { isSluiceError } from '../../src/lib/errors.ts';
import { newId } from '../../src/lib/ids.ts';
import type { Database, Tx } from '../../src/lib/postgres/db.ts';
import { type Expected, pipelines, tenants } from './arranged.ts';
import { fanOutOnce, purgeEvents, purgeJobs } from './old-events.ts';
import { cancelJob, dispatch, dispatchMany, listPaused, pauseJob, resumeJob } from './old-jobs.ts';
import { claim, listHeld, lockIfHeld, registerWorker, renew, rescueLeases, settle } from './old-leases.ts';
import { finishSharedJob } from './old-shared.ts';

const failure = { code: 'probe_failed', message: 'It failed', class: 'probe' };
const dead: Outcome = { type: 'dead', failure };
const outcomes: Outcome[] = [
  { type: 'done' },
  { type: 'continue' },
  { type: 'done' },
  { type: 'retry', failure, delayMs: 50 },
  dead,
  { type: 'wait', delayMs: 50 },
];

/** A server and a worker of the version before: that version's statements, and a ledger of what was acknowledged. */
export class OldProgram {
  readonly workerId = newId();
  /** Jobs whose dispatch was acknowledged; null: not known to have ended yet. */
  readonly acknowledged = new Map<string, 'success' | 'dead_letter' | 'canceled' | null>();
  /** Errors that the version before does not expect to go away by trying again. */
  readonly surprises: unknown[] = [];
  readonly figures = { statements: 0, conflicts: 0, longestMs: 0 };
  /** Whether it makes new jobs, or only works off what is there. */
  isDispatching = true;
  readonly #db: Database;
  #isRunning = false;
  #loops: Promise<void>[] = [];
  #turn = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  async start(): Promise<void> {
    this.#isRunning = true;
    const worker = { workerId: this.workerId, name: 'old', guardedBy: 'expiry' as const, lockKey: '1' };
    await this.#kernel((tx) => registerWorker(tx, { ...worker, concurrency: 4, version: 'old' }));
    this.#loops = [
      this.#repeat(5, () => this.#dispatch()),
      this.#repeat(5, () => this.#dispatch()),
      this.#repeat(20, () => this.#dispatchMany()),
      this.#repeat(5, () => this.#work(false)),
      this.#repeat(5, () => this.#work(false)),
      this.#repeat(50, () => this.#work(true)),
      this.#repeat(30, () => this.#control()),
      this.#repeat(20, () => this.#timed(() => fanOutOnce(this.#db))),
      this.#repeat(100, () => this.#keepUp()),
      this.#repeat(10, () => this.#writeSlowly()),
      this.#repeat(80, () => this.#finishHeld(1)),
    ];
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await Promise.all(this.#loops);
    await this.#finishHeld(1_000);
  }

  /** What it promised, added to what was there before. */
  promised(before: Expected): Expected {
    const all: Expected = new Map(before);
    for (const [jobId, end] of this.acknowledged) if (end !== null) all.set(jobId, end);
    return all;
  }

  async #repeat(pauseMs: number, step: () => Promise<unknown>): Promise<void> {
    while (this.#isRunning) {
      try {
        await step();
      } catch (error) {
        // Deadlocks; everything else would be in the log of that program.
        if (isSluiceError(error) && error.code === 'write_conflict') this.figures.conflicts += 1;
        else this.surprises.push(error);
      }
      await setTimeout(pauseMs);
    }
  }

  async #timed<T>(work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    try {
      return await work();
    } finally {
      this.figures.statements += 1;
      this.figures.longestMs = Math.max(this.figures.longestMs, performance.now() - startedAt);
    }
  }

  #kernel<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#timed(() => this.#db.kernel(work));
  }

  #tenant<T>(tenantId: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#timed(() => this.#db.tenant(tenantId, work));
  }

  #next<T>(list: readonly T[]): T {
    this.#turn += 1;
    return list[this.#turn % list.length] as T;
  }

  #newJob() {
    const jobId = newId();
    const pipeline = this.#next(pipelines);
    const job = { jobId, pipeline, subjectId: jobId, maxRetries: 5, createdBy: 'old' };
    return { ...job, shared: pipeline === 'shared' };
  }

  async #dispatch(): Promise<void> {
    if (!this.isDispatching) return;
    const tenantId = this.#next(tenants);
    const job = await this.#tenant(tenantId, (tx) => dispatch(tx, tenantId, this.#newJob()));
    if (job) this.acknowledged.set(job.jobId, null);
  }

  async #dispatchMany(): Promise<void> {
    if (!this.isDispatching) return;
    const tenantId = this.#next(tenants);
    const jobs = Array.from({ length: 5 }, () => ({ ...this.#newJob(), pipeline: 'probe', shared: false }));
    const made = await this.#tenant(tenantId, (tx) => dispatchMany(tx, tenantId, jobs));
    for (const { jobId } of made) this.acknowledged.set(jobId, null);
  }

  async #work(struck: boolean): Promise<void> {
    const request = { workerId: this.workerId, pipelines, limit: struck ? 1 : 5, leaseMs: 5_000 };
    const jobs = await this.#kernel((tx) => claim(tx, { ...request, tenantLimit: 1_000, struck }));
    const leases = jobs.filter(({ leasedBy }) => leasedBy !== null);
    if (leases.length > 0) {
      await this.#kernel((tx) => renew(tx, { workerId: this.workerId, leases, leaseMs: 5_000 }));
    }
    for (const job of jobs) await this.#finish(job);
  }

  async #finish(job: ClaimedJob): Promise<void> {
    if (job.shared && job.status !== 'canceled') {
      const finished = await this.#tenant(job.tenantId, (tx) => finishSharedJob(tx, job));
      if (finished) this.#note(job.jobId, 'success');
      return;
    }
    const outcome: Outcome = job.createdBy === 'old' ? this.#next(outcomes) : { type: 'done' };
    const settled = await this.#tenant(job.tenantId, async (tx) =>
      (await lockIfHeld(tx, job)) ? settle(tx, [{ ...job, outcome }]) : [],
    );
    for (const { jobId, status } of settled) this.#note(jobId, status);
  }

  /** Jobs that it had leased before anything began. */
  async #finishHeld(limit: number): Promise<void> {
    const { workerId } = this;
    for (const lease of await this.#kernel((tx) => listHeld(tx, { workerId, limit }))) {
      await this.#tenant(lease.tenantId, (tx) => settle(tx, [{ ...lease, outcome: { type: 'done' } }]));
    }
  }

  #note(jobId: string, status: string): void {
    if (!this.acknowledged.has(jobId)) return;
    if (status === 'success' || status === 'dead_letter' || status === 'canceled') {
      this.acknowledged.set(jobId, status);
    }
  }

  /** Pauses, resumes or cancels one of its own jobs. */
  async #control(): Promise<void> {
    if (!this.isDispatching) return;
    const tenantId = this.#next(tenants);
    const job = await this.#tenant(tenantId, (tx) => dispatch(tx, tenantId, this.#newJob()));
    if (!job) return;
    this.acknowledged.set(job.jobId, null);
    const key = { tenantId, jobId: job.jobId };
    await this.#tenant(tenantId, (tx) => pauseJob(tx, { ...key, from: ['queued', 'running'] }));
    if (this.#turn % 2 === 0) {
      await this.#tenant(tenantId, (tx) => resumeJob(tx, { ...key, from: ['paused'] }));
      return;
    }
    const from = ['queued', 'running', 'paused', 'failed'] as const;
    const canceled = await this.#tenant(tenantId, (tx) =>
      cancelJob(tx, { ...key, from: [...from], needsCleanup: true }),
    );
    if (canceled) this.acknowledged.set(job.jobId, 'canceled');
  }

  /** Resumes every paused job. */
  async resumeAll(): Promise<void> {
    for (const tenantId of tenants) {
      const paused = await this.#tenant(tenantId, (tx) => listPaused(tx, tenantId));
      for (const { jobId } of paused) {
        await this.#tenant(tenantId, (tx) => resumeJob(tx, { tenantId, jobId, from: ['paused'] }));
      }
    }
  }

  async #keepUp(): Promise<void> {
    await this.#kernel((tx) => rescueLeases(tx, { maxStrikes: 3, limit: 100, silentMs: 30_000 }));
    await this.#kernel((tx) => purgeEvents(tx, { days: 30, limit: 10_000 }));
    await this.#kernel((tx) => purgeJobs(tx, { days: 30, limit: 1_000 }));
  }

  /** A slice whose transaction stays open for a while: its event is committed after many later ones. */
  async #writeSlowly(): Promise<void> {
    if (!this.isDispatching) return;
    const tenantId = this.#next(tenants);
    await this.#db.tenant(tenantId, async (tx) => {
      const job = await dispatch(tx, tenantId, this.#newJob());
      await setTimeout(700);
      if (job) tx.afterCommit(() => this.acknowledged.set(job.jobId, null));
    });
  }
}
