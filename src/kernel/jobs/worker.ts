import { Bell } from '../../lib/timing/bell.ts';
import { jittered } from '../../lib/timing/repeat.ts';
import type { KernelParts } from './kernel.ts';
import type { SliceEnd } from './slice-runner.ts';
import type { ClaimedJob } from './types.ts';

export type WorkerDeps = Pick<
  KernelParts,
  | 'claimer'
  | 'keeper'
  | 'membership'
  | 'registry'
  | 'rescuer'
  | 'runner'
  | 'wake'
  | 'logger'
  | 'concurrency'
  | 'pollMs'
>;

/**
 * The work loop: claims as many jobs as fit, runs their slices side by side, and claims again when work was announced,
 * a slice ended, or the poll interval has passed. It never claims more than it can start at once, so a tenant waits at
 * most one slice for its turn.
 */
export class Worker {
  readonly #deps: WorkerDeps;
  readonly #running = new Set<Promise<void>>();
  #freeSlots: number;
  /** A job whose worker died runs alone, so that no other job gets a strike if it happens again. */
  #alone = false;
  #stopping = false;
  readonly #bell = new Bell();
  #loop: Promise<void> | null = null;
  #unlisten: () => void = () => {};

  constructor(deps: WorkerDeps) {
    this.#deps = deps;
    this.#freeSlots = deps.concurrency;
  }

  start(): void {
    this.#unlisten = this.#deps.wake.on('jobs', () => this.#bell.ring());
    this.#loop = this.#run();
  }

  /** Stops claiming, lets slices end within the deadline, then gives back what is left. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    this.#unlisten();
    this.#deps.runner.drain();
    this.#bell.ring();
    await this.#loop;
    const ended = Promise.all(this.#running);
    await Promise.race([ended, timeout(graceMs)]);
    if (this.#running.size > 0) {
      this.#deps.keeper.abortAll('the worker is stopping');
      this.#deps.runner.abortTurns('the worker is stopping');
      await Promise.race([ended, timeout(1_000)]);
      if (this.#running.size > 0) await this.#deps.keeper.releaseAll();
    }
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      try {
        await this.#fill();
      } catch (error) {
        this.#deps.logger.warn({ err: error }, 'jobs could not be claimed; trying again');
      }
      if (!this.#stopping) await this.#bell.wait(jittered(this.#deps.pollMs));
    }
  }

  async #fill(): Promise<void> {
    while (!this.#stopping && !this.#alone && this.#deps.membership.isMember) {
      if (this.#deps.rescuer.hasStruck) {
        if (this.#running.size > 0) return;
        if (await this.#startAlone()) return;
      }
      if (this.#freeSlots < 1 || !(await this.#startSome())) return;
    }
  }

  async #startAlone(): Promise<boolean> {
    const pipelines = this.#deps.registry.all;
    const [job] = await this.#deps.claimer.claim({ pipelines, limit: 1, struck: true });
    if (!job) return false;
    this.#alone = true;
    this.#start([job], () => this.#deps.runner.run(job).then((end) => [end]));
    return true;
  }

  /** Returns whether any job was claimed: then the other slots may find work too. */
  async #startSome(): Promise<boolean> {
    const { registry, claimer, runner } = this.#deps;
    const jobs = await claimer.claim({ pipelines: registry.single, limit: this.#freeSlots });
    for (const job of jobs) this.#start([job], () => runner.run(job).then((end) => [end]));
    let found = jobs.length;
    for (const { name, batchSize } of registry.batched) {
      if (this.#freeSlots < 1) break;
      const batch = await claimer.claim({ pipelines: [name], limit: batchSize });
      if (batch.length > 0) this.#start(batch, () => runner.runBatch(batch));
      found += batch.length;
    }
    return found > 0;
  }

  #start(jobs: ClaimedJob[], run: () => Promise<SliceEnd[]>): void {
    this.#freeSlots -= 1;
    const running = run()
      .then((ends) => {
        for (const end of ends) this.#expectDue(end);
      })
      .catch((error: unknown) =>
        this.#deps.logger.error({ err: error, job_id: jobs[0]?.jobId }, 'a slice ended in an unforeseen way'),
      )
      .finally(() => {
        this.#running.delete(running);
        this.#freeSlots += 1;
        this.#alone = false;
        this.#bell.ring();
      });
    this.#running.add(running);
  }

  /** A short wait ends before the next poll: wake up at that time. */
  #expectDue(end: SliceEnd): void {
    if (end.type !== 'settled' || !('delayMs' in end.outcome)) return;
    const { delayMs } = end.outcome;
    if (delayMs < this.#deps.pollMs) setTimeout(() => this.#bell.ring(), delayMs + 1).unref();
  }
}

function timeout(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
