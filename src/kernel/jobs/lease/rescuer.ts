import type { Tx } from '../../../lib/postgres/db.ts';
import { onceMore } from '../../../lib/timing/once-more.ts';
import { jittered, repeat } from '../../../lib/timing/repeat.ts';
import type { Office } from '../../elections/office.ts';
import type { KernelParts } from '../kernel.ts';
import { listFollowed } from './lease-store.ts';
import { sessionName } from './membership.ts';
import { listSilentWorkers, markLostWorkers, type RescuedJob, rescueLeases } from './worker-store.ts';

export interface RescuerOptions
  extends Pick<KernelParts, 'db' | 'wake' | 'logger' | 'metrics' | 'leaseMs' | 'maxStrikes'> {
  /** Gets the workers that were found dead, so that houses free what they held besides leases. */
  onLost?: ((workerIds: string[]) => Promise<void>) | undefined;
}

const batchSize = 500;
/** A worker that lost its guard connection tries again at least every two seconds. */
const rejoinMs = 5_000;
/** A process that is stopped or cut off inside a rescue would keep all others from rescuing. */
const limits = { limitMs: 10_000, settings: { idle_in_transaction_session_timeout: '2000' } };

/** Takes the leases of dead and silent workers back. Safe to run in every process at once; one at a time is enough. */
export class Rescuer {
  readonly #options: RescuerOptions;
  #stopLooking: () => void = () => {};

  constructor(options: RescuerOptions) {
    this.#options = options;
  }

  /** Often enough that a dead worker's job runs elsewhere within about a second. */
  start(office: Office): void {
    const everyMs = Math.min(400, this.#options.leaseMs / 4);
    this.#stopLooking = office.whileHeld(() => this.#repeat(everyMs, () => this.rescue()));
  }

  stop(): void {
    this.#stopLooking();
  }

  #repeat(everyMs: number, work: () => Promise<unknown>): () => void {
    const run = () =>
      work().catch((error: unknown) => this.#options.logger.debug({ err: error }, 'rescue has to wait'));
    return repeat(run, () => jittered(everyMs), 0);
  }

  async rescue(): Promise<RescuedJob[]> {
    const { lost, rescued, silent } = await onceMore(() => this.#takeBack());
    if (lost.length > 0) await this.#options.onLost?.(lost);
    for (const job of rescued) {
      this.#options.metrics.rescues.inc({ cause: job.cause });
      this.#options.logger.warn(
        { job_id: job.jobId, cause: job.cause, status: job.status },
        'a lease was taken back',
      );
    }
    if (rescued.length > 0) this.#options.wake.announce('jobs', 'events');
    // Last, because only the next run benefits, and a failure here must not stop the rest of this one.
    if (silent.length > 0) await this.#endStalledSessions(silent);
    return rescued;
  }

  /** A process that is stopped in the middle of a statement keeps rows locked; the next run then gets them. */
  async #endStalledSessions(workerIds: string[]): Promise<void> {
    const { db, logger } = this.#options;
    for (const session of await onceMore(() => db.endStalledSessions(workerIds.map(sessionName)))) {
      logger.warn({ session }, 'a transaction was ended whose process had stopped in the middle of it');
    }
  }

  #takeBack(): Promise<{ lost: string[]; rescued: RescuedJob[]; silent: string[] }> {
    const { db, maxStrikes, leaseMs } = this.#options;
    return db.transaction({ role: 'sluice_kernel', ...limits }, async (tx) => {
      const lost = (await markLostWorkers(tx)).map(({ workerId }) => workerId);
      const rescued = await rescueLeases(tx, { maxStrikes, limit: batchSize, silentMs: leaseMs, rejoinMs });
      await this.#countFollowed(tx, rescued);
      return { lost, rescued, silent: await listSilentWorkers(tx, leaseMs) };
    });
  }

  /** When a job is given up, the database creates the job that waited for it. */
  async #countFollowed(tx: Tx, jobs: RescuedJob[]): Promise<void> {
    const ended = jobs.filter(({ status }) => status === 'dead_letter');
    if (ended.length === 0) return;
    const followed = await listFollowed(tx, ended);
    tx.afterCommit(() => {
      for (const { pipeline } of followed) this.#options.metrics.jobsQueued.inc({ pipeline });
    });
  }
}
