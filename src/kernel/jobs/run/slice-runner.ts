import { isSluiceError, messageOf } from '../../../lib/errors.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { isInfrastructure, jobErrors } from '../errors.ts';
import type { KernelParts } from '../kernel.ts';
import type { TakenJob } from '../lease/claimer.ts';
import type { HeldLease } from '../lease/lease-keeper.ts';
import {
  fenceStatement,
  listFollowed,
  saveStatement,
  settleMany,
  settleStatement,
} from '../lease/lease-store.ts';
import { parkJob } from '../shared/shared-store.ts';
import type {
  ClaimedJob,
  Job,
  Outcome,
  Pipeline,
  SettledJob,
  Settlement,
  Slice,
  SliceResult,
  SliceState,
  TurnResult,
} from '../types.ts';
import { decideRetry, unexpectedRetries } from './retry.ts';

export type SliceRunnerDeps = Pick<
  KernelParts,
  'db' | 'keeper' | 'settler' | 'registry' | 'wake' | 'logger' | 'metrics' | 'leaseMs' | 'workerId'
>;

export interface RunOptions {
  /** True when the slice should end at the next point where it can continue later. */
  shouldYield?: () => boolean;
  /** The lease, if somebody has held it since the claim. */
  held?: HeldLease;
  /** Gives the slot of a turn to other work; absent where there are no slots. */
  leaveSlot?: () => boolean;
  /** The work is done and has no effects: what is left is its part in a settlement of many. */
  onAdvanced?: () => void;
}

const turnFailureDelayMs = 2_000;
const storageWaitMs = 5_000;

interface Holding {
  held: HeldLease;
  shouldYield: () => boolean;
}

const never = () => false;

/** The state after a transaction in the middle of a slice; it may depend on what the transaction did. */
type Checkpointed<T> = SliceState | ((result: T) => SliceState);

/** How a slice ended for the worker: settled with an outcome, or dropped because the lease or the database was gone. */
export type SliceEnd =
  | { type: 'settled'; outcome: Outcome; job: SettledJob }
  | { type: 'turn'; result: TurnResult }
  | { type: 'dropped'; reason: string };

/**
 * Runs one slice and commits its effects, checkpoint, counters, status and events in one fenced transaction.
 */
export class SliceRunner {
  readonly #deps: SliceRunnerDeps;
  readonly #turns = new Set<{ controller: AbortController; isCutOff: boolean }>();
  #draining = false;

  constructor(deps: SliceRunnerDeps) {
    this.#deps = deps;
  }

  /** From now on, slices end at the next point where they can continue later. */
  drain(): void {
    this.#draining = true;
  }

  async run(
    { job, askedAtMs }: TakenJob,
    { shouldYield = never, held: given, onAdvanced, leaveSlot = never }: RunOptions = {},
  ): Promise<SliceEnd> {
    if (isShared(job)) return this.#takeTurn(job, { shouldYield, leaveSlot });
    const held = given ?? this.#deps.keeper.hold(job, askedAtMs);
    try {
      held.controller.signal.throwIfAborted();
      const pipeline = this.#deps.registry.get(job.pipeline);
      const result = await this.#advance(pipeline, job, { held, shouldYield });
      return await this.#commit(job, held, { result, onAdvanced });
    } catch (error) {
      return await this.#drop(job, held, error);
    } finally {
      this.#deps.keeper.drop(held);
    }
  }

  /** Slices of shared jobs hold no lease that the keeper could abort. */
  abortTurns(reason: string): void {
    for (const { controller } of this.#turns)
      controller.abort(jobErrors.raise.lease_lost(`The turn was ended: ${reason}`));
  }

  /**
   * The guard connection is lost: no further call begins. Calls that run are left to end, because what they ask for is
   * done by the other side in any case; the locks of their rows decide whether the answers still count.
   */
  cutOffTurns(): void {
    for (const turn of this.#turns) turn.isCutOff = true;
  }

  async #takeTurn(
    job: ClaimedJob,
    { shouldYield: mustYield, leaveSlot }: { shouldYield: () => boolean; leaveSlot: () => boolean },
  ): Promise<SliceEnd> {
    const controller = new AbortController();
    const running = { controller, isCutOff: false };
    this.#turns.add(running);
    const { db, logger, registry, workerId, wake } = this.#deps;
    try {
      const pipeline = registry.get(job.pipeline);
      if (!pipeline.takeTurn) throw new Error(`Pipeline ${job.pipeline} has shared jobs but takes no turns`);
      const { signal } = controller;
      const shouldYield = () => this.#draining || signal.aborted || running.isCutOff || mustYield();
      const result = await pipeline.takeTurn({ job, workerId, signal, shouldYield, leaveSlot });
      if (result.processed > 0) wake.announce('events');
      return { type: 'turn', result };
    } catch (error) {
      const reason = isSluiceError(error) ? error.code : 'unexpected_failure';
      // Another turn has ended the job meanwhile: nothing is wrong, and nothing was written.
      const level = reason === 'lease_lost' ? 'debug' : 'warn';
      logger[level]({ err: error, job_id: job.jobId, correlation_id: job.correlationId }, 'a turn failed');
      this.#deps.metrics.slicesDropped.inc({ reason });
      // Whatever the cause, the next try must not follow at once, again and again.
      await db.tenant(job.tenantId, (tx) => parkJob(tx, job, turnFailureDelayMs)).catch(() => {});
      return { type: 'dropped', reason };
    } finally {
      this.#turns.delete(running);
    }
  }

  async #advance(pipeline: Pipeline, job: ClaimedJob, { held, shouldYield }: Holding): Promise<SliceResult> {
    const slice = this.#sliceOf(job, { held, shouldYield });
    try {
      if (job.status !== 'canceled') return await pipeline.advance(slice);
      return pipeline.cleanUp ? await pipeline.cleanUp(slice) : { outcome: { type: 'done' } };
    } catch (error) {
      held.controller.signal.throwIfAborted();
      if (isInfrastructure(error)) throw error;
      return { outcome: this.#outcomeOf(pipeline, job, error) };
    }
  }

  #outcomeOf(pipeline: Pipeline, job: Job, error: unknown): Outcome {
    this.#deps.logger.warn(
      { err: error, job_id: job.jobId, correlation_id: job.correlationId },
      'a slice failed',
    );
    // Cleanup is never given up: what a canceled job left behind must be removed, however long it takes.
    if (job.status === 'canceled') {
      return { type: 'wait', delayMs: 5_000 };
    }
    // Nothing is wrong with the job: it continues once its files can be read again.
    if (isSluiceError(error) && error.code === 'files_unavailable') {
      return { type: 'wait', delayMs: storageWaitMs };
    }
    return pipeline.onError(error, job);
  }

  #sliceOf(job: ClaimedJob, { held, shouldYield }: Holding): Slice {
    return {
      job,
      signal: held.controller.signal,
      shouldYield: () => this.#draining || held.paused || held.controller.signal.aborted || shouldYield(),
      assertHeld: () => this.#deps.keeper.assertHeld(held),
      transaction: (work, state) => this.#checkpoint(job, held, { work, state }),
    };
  }

  async #checkpoint<T>(
    job: ClaimedJob,
    held: HeldLease,
    { work, state }: { work: (tx: Tx, job: Job) => Promise<T>; state: Checkpointed<T> | undefined },
  ): Promise<T> {
    let savedAtMs = held.renewedAtMs;
    const result = await this.#fenced(job, held, async (tx, fresh) => {
      const done = await work(tx, fresh);
      if (state) {
        savedAtMs = performance.now();
        const { leaseMs } = this.#deps;
        const saved = typeof state === 'function' ? state(done) : state;
        await tx.commitWith(saveStatement(held, { state: saved, leaseMs }));
      }
      return done;
    });
    held.renewedAtMs = Math.max(held.renewedAtMs, savedAtMs);
    return result;
  }

  async #commit(
    job: ClaimedJob,
    held: HeldLease,
    { result, onAdvanced }: { result: SliceResult; onAdvanced?: (() => void) | undefined },
  ): Promise<SliceEnd> {
    const { effects, ...rest } = result;
    const isFollowed = this.#isFollowed(job);
    const settlement = settlementOf(job, rest, isFollowed);
    held.controller.signal.throwIfAborted();
    if (!effects && !isFollowed) onAdvanced?.();
    const settled =
      effects || isFollowed
        ? await this.#fenced(job, held, async (tx) => {
            await effects?.(tx);
            return this.#settleIn(tx, job, settlement);
          })
        : await this.#deps.settler.settle(settlement);
    return this.#report(job, settlement, settled);
  }

  #isFollowed(job: Job): boolean {
    return this.#deps.registry.find(job.pipeline)?.mayBeFollowed?.(job) ?? false;
  }

  /** A job that the database creates when another one ends is counted and announced like any other. */
  async #settleIn(tx: Tx, job: ClaimedJob, settlement: Settlement): Promise<SettledJob | null> {
    if (!settlement.isFollowed) {
      return (await tx.commitWith<SettledJob>(settleStatement([settlement])))[0] ?? null;
    }
    const [settled] = await settleMany(tx, [settlement]);
    if (!settled || !hasEnded(settled)) return settled ?? null;
    const { wake, metrics } = this.#deps;
    const followed = await listFollowed(tx, [job]);
    tx.afterCommit(() => {
      if (followed.length > 0) wake.announce('jobs');
      for (const { pipeline } of followed) metrics.jobsQueued.inc({ pipeline });
    });
    return settled;
  }

  /** Every transaction of a slice starts with the fence, in the same message as `begin`. */
  #fenced<T>(job: Job, held: HeldLease, work: (tx: Tx, fresh: Job) => Promise<T>): Promise<T> {
    held.controller.signal.throwIfAborted();
    return this.#deps.db.transaction<T, Job>(
      {
        role: 'sluice_tenant',
        tenantId: job.tenantId,
        // A process that is stopped inside the transaction must not keep the row locked past its lease.
        settings: { idle_in_transaction_session_timeout: String(Math.floor(this.#deps.leaseMs * 0.8)) },
        signal: held.controller.signal,
        // Leases are renewed over another connection: if only this one falls silent, the job would be held for ever.
        limitMs: this.#deps.leaseMs * 10,
      },
      async (tx, [row]) => {
        if (!row) {
          this.#deps.metrics.zombieWritesRefused.inc();
          throw jobErrors.raise.lease_lost(
            `A late write to job ${job.jobId} (epoch ${job.leaseEpoch}) was refused`,
          );
        }
        return work(tx, row);
      },
      fenceStatement(held),
    );
  }

  #report(job: ClaimedJob, settlement: Settlement, settled: SettledJob | null): SliceEnd {
    const { metrics, wake } = this.#deps;
    if (!settled) {
      metrics.zombieWritesRefused.inc();
      return { type: 'dropped', reason: 'lease_lost' };
    }
    wake.announce('events');
    // This worker has a free slot now and looks for itself: only a worker that takes no more has to tell the others.
    if (this.#draining && settlement.outcome.type === 'continue') wake.announce('jobs');
    metrics.settled(job, settlement.outcome);
    return { type: 'settled', outcome: settlement.outcome, job: settled };
  }

  /** Nothing of the slice was kept, or (a lost COMMIT) all of it: giving the lease back is right in both cases. */
  async #drop(job: ClaimedJob, held: HeldLease, error: unknown): Promise<SliceEnd> {
    const reason = isSluiceError(error) ? error.code : 'unexpected_failure';
    const context = { err: error, job_id: job.jobId, correlation_id: job.correlationId };
    if (reason === 'lease_lost') {
      this.#deps.logger.info(context, 'a slice was dropped: its lease is lost');
      // It may still be ours in the database: aborted because the worker stops, or lost its guard connection.
      await this.#deps.keeper.release(held);
    } else if (isInfrastructure(error)) {
      this.#deps.logger.warn(context, 'a slice was dropped: the database was away');
      await this.#deps.keeper.release(held);
    } else {
      this.#deps.logger.error(context, 'a slice could not be settled');
      await this.#settleFailure(job, held, error);
    }
    this.#deps.metrics.slicesDropped.inc({ reason });
    return { type: 'dropped', reason };
  }

  /** The effects themselves failed (a constraint, a bug): that is a failure of the job like any other. */
  async #settleFailure(job: ClaimedJob, held: HeldLease, error: unknown): Promise<void> {
    try {
      const pipeline = this.#deps.registry.get(job.pipeline);
      await this.#commit(job, held, { result: { outcome: this.#outcomeOf(pipeline, job, error) } });
    } catch (second) {
      const line = { err: second, job_id: job.jobId, correlation_id: job.correlationId };
      this.#deps.logger.warn(line, 'the failure could not be recorded either');
      await this.#deps.keeper.release(held);
    }
  }
}

/** Whatever a pipeline's policies say, a job has no more retries than it was created with. */
function settlementOf(
  { tenantId, jobId, leaseEpoch, leasedBy, retryCount, maxRetries }: Job,
  { outcome, ...state }: Omit<SliceResult, 'effects'>,
  isFollowed: boolean,
): Settlement {
  const isUsedUp = outcome.type === 'retry' && retryCount >= maxRetries;
  const allowed: Outcome = isUsedUp ? { type: 'dead', failure: outcome.failure } : outcome;
  return { tenantId, jobId, leaseEpoch, leasedBy, outcome: allowed, state, isFollowed };
}

function hasEnded({ status, cleanupOpen }: SettledJob): boolean {
  return ['success', 'dead_letter', 'canceled'].includes(status) && !cleanupOpen;
}

/** A shared job is never leased, except to clean up after it. */
export function isShared(job: Job): boolean {
  return job.shared && job.status !== 'canceled';
}

/** What a pipeline does with errors that it has no policy for. */
export function unexpectedOutcome(error: unknown, job: Job): Outcome {
  const failure = {
    code: isSluiceError(error) ? error.code : 'unexpected_failure',
    message: messageOf(error),
    class: 'unexpected',
  };
  const decision = decideRetry(unexpectedRetries.bug, job.retryCount);
  return decision.retry ? { type: 'retry', failure, delayMs: decision.delayMs } : { type: 'dead', failure };
}
