import { pauseJob } from '../../../../kernel/jobs/store.ts';
import { isSluiceError } from '../../../../lib/errors.ts';
import type { Tx } from '../../../../lib/postgres/db.ts';
import { Bell } from '../../../../lib/timing/bell.ts';
import { countCalls } from '../../providers/provider-store.ts';
import { hostOf } from '../../providers/types.ts';
import type { ItemChange, ItemJob } from '../../types.ts';
import { closeBatch, freshOf } from '../batch.ts';
import type { HeldLocks } from '../item-locks.ts';
import {
  committed,
  contextFor,
  endedOf,
  type Opened,
  reportOf,
  type TurnDeps,
  workedOn,
} from '../opened-turn.ts';
import { isOurTrouble } from '../processors/outcomes.ts';
import type { ItemProgress, ProviderCall } from '../processors/types.ts';
import { addJobCost, changeItems, insertProviderCalls, keepProgress } from '../store.ts';

interface Answer {
  changes: ItemChange[];
  calls: ProviderCall[];
  /** Of rows that go on with their next step once it is stored. */
  kept?: KeptProgress;
}

interface KeptProgress {
  progress: readonly ItemProgress[];
  resolve(held: ReadonlySet<number>): void;
  reject(error: unknown): void;
}

/** Answers wait for each other for so long: each commit locks the job's counts. A crash forgets no more than this. */
const gatherMs = 50;
/** While an answer waits longer than this, no further call begins: a crash would repeat all of them. */
const lateMs = 200;
const retryMs = { first: 50, most: 1_000 };
/** An answer is kept for so long while the database is away; by then others have taken its row over. */
const keepMs = 300_000;

/**
 * Commits what processors have returned, as it comes. While the database is away, answers are held and committed when
 * it is back: the lock of a row decides whether its answer still counts, and a COMMIT whose response was lost changes
 * nothing the second time.
 */
export class Answers {
  readonly #deps: TurnDeps;
  readonly #opened: Opened;
  readonly #locks: HeldLocks;
  readonly #bell = new Bell();
  readonly #onCommit: () => void;
  #held: Answer[] = [];
  #isRunning = true;
  #loop: Promise<void>;
  /** When the oldest answer came that waits, and the oldest that is being committed. */
  #heldSinceMs = Number.POSITIVE_INFINITY;
  #committingSinceMs = Number.POSITIVE_INFINITY;
  #seen = { items: 0, failures: 0, sinceMs: performance.now() };
  #isStuck = false;
  #isCommitting = false;
  #hasPaused = false;
  /** How many rows have ended, and whether that was all of the job. */
  processed = 0;
  isLast = false;
  /** The job was paused, canceled or erased: no further row is claimed. */
  isOver = false;
  /** The job was canceled or erased, and refuses answers. */
  lost: Error | null = null;
  /** When the next row that has to be tried again is due. */
  nextRetryAtMs = Number.POSITIVE_INFINITY;

  constructor(
    deps: TurnDeps,
    opened: Opened,
    { locks, onCommit }: { locks: HeldLocks; onCommit: () => void },
  ) {
    this.#deps = deps;
    this.#opened = opened;
    this.#locks = locks;
    this.#onCommit = onCommit;
    this.#loop = this.#run();
  }

  /** The database is away, or too busy: no further call may begin until what has come is safe. */
  get isStuck(): boolean {
    if (this.#isStuck) return true;
    return performance.now() - Math.min(this.#heldSinceMs, this.#committingSinceMs) > lateMs;
  }

  /** Answers are being committed, or wait for it. */
  get isBusy(): boolean {
    return this.#isCommitting || this.#held.length > 0;
  }

  add(answer: Answer): void {
    if (answer.changes.length > 0) this.#hold(answer);
  }

  /** Stores how far rows have come, and resolves when that is safe, with those that are still ours. */
  keep(progress: readonly ItemProgress[], calls: ProviderCall[]): Promise<ReadonlySet<number>> {
    return new Promise((resolve, reject) => {
      this.#hold({ changes: [], calls, kept: { progress, resolve, reject } });
    });
  }

  #hold(answer: Answer): void {
    this.#held.push(answer);
    this.#heldSinceMs = Math.min(this.#heldSinceMs, performance.now());
    this.#bell.ring();
  }

  /** Commits the rest. */
  async close(): Promise<void> {
    this.#isRunning = false;
    this.#bell.ring();
    await this.#loop;
    this.#observe([], true);
  }

  async #run(): Promise<void> {
    for (;;) {
      if (this.#held.length === 0) {
        if (!this.#isRunning) return;
        await this.#bell.wait(60_000);
        continue;
      }
      const gatherFor = this.#heldSinceMs + gatherMs - performance.now();
      if (this.#isRunning && gatherFor > 0) await new Promise((resolve) => setTimeout(resolve, gatherFor));
      const answers = this.#held.splice(0);
      this.#committingSinceMs = this.#heldSinceMs;
      this.#heldSinceMs = Number.POSITIVE_INFINITY;
      this.#isCommitting = true;
      await this.#commitSurely(answers);
      this.#isCommitting = false;
      this.#committingSinceMs = Number.POSITIVE_INFINITY;
      this.#onCommit();
    }
  }

  async #commitSurely(answers: Answer[]): Promise<void> {
    const { logger } = this.#deps;
    const { job, turn } = this.#opened;
    const untilMs = performance.now() + keepMs;
    let delayMs = retryMs.first;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#commit(answers, attempt > 1);
        this.#isStuck = false;
        return;
      } catch (error) {
        const line = {
          err: error,
          job_id: job.jobId,
          correlation_id: turn.job.correlationId,
          answers: answers.length,
        };
        // The job was canceled or erased: nothing is committed for it any more.
        if (isSluiceError(error) && error.code === 'lease_lost') {
          this.isOver = true;
          this.lost = error;
          rejectAll(answers, error);
          logger.info(line, 'answers came too late: the job does not run any more');
          return;
        }
        const mayRetry = isOurTrouble(error) || (isSluiceError(error) && error.kind === 'transient');
        if (!mayRetry || performance.now() > untilMs || turn.signal.aborted) {
          this.isOver = true;
          rejectAll(answers, error);
          logger.error(line, 'answers could not be committed; their rows will be tried again');
          return;
        }
        this.#isStuck = true;
        logger.debug(line, 'answers wait until the database is back');
        await new Promise((resolve) => setTimeout(resolve, delayMs));
        delayMs = Math.min(delayMs * 2, retryMs.most);
      }
    }
  }

  async #commit(answers: Answer[], isRepeated: boolean): Promise<void> {
    const { db, wake } = this.#deps;
    const { job } = this.#opened;
    const changes = answers.flatMap((answer) => answer.changes);
    const calls = answers.flatMap((answer) => answer.calls);
    const result = await db.transaction(contextFor(job), async (tx) => {
      const { lockToken } = this.#locks;
      const ids = new Set(changes.length === 0 ? [] : await changeItems(tx, job, { lockToken, changes }));
      const progress = answers.flatMap((answer) => answer.kept?.progress ?? []);
      const stored = progress.length === 0 ? null : await keepProgress(tx, job, { lockToken, progress });
      for (const id of stored?.changed ?? []) ids.add(id);
      // Missing items were taken over by another worker, which changes and counts them.
      const kept = changes.filter(({ id }) => ids.has(id));
      // After a COMMIT whose response was lost, a call that is not needed any more has its row already.
      const fresh = isRepeated ? calls.filter(({ itemIds }) => itemIds.some((id) => ids.has(id))) : calls;
      await insertProviderCalls(
        tx,
        fresh.map((call) => rowOfCall(job, call)),
      );
      await this.#countCalls(tx, fresh);
      const end = { changes: kept, from: 'PROCESSING', fresh: freshOf(kept) } as const;
      const isSpent = await this.#spend(tx, fresh);
      const closed = await closeBatch(tx, { ...reportOf(this.#deps, this.#opened), ...end });
      // Once per flight: what was under way when the job was paused must not pause it again after it was resumed.
      const mayPause = isSpent && !this.#hasPaused && !closed.isLast && closed.status === 'running';
      const held = new Set(stored?.held);
      if (!mayPause) return { kept, held, ...closed };
      await pauseJob(tx, { ...job, from: ['running'] });
      tx.afterCommit(() => {
        this.#hasPaused = true;
      });
      return { kept, held, isLast: false, status: 'paused' as const };
    });
    const { kept } = result;
    for (const answer of answers) answer.kept?.resolve(result.held);
    committed(this.#deps, this.#opened, { kept, late: isRepeated ? 0 : changes.length - kept.length });
    this.processed += endedOf(kept);
    this.isLast = result.isLast;
    if (result.isLast || result.status !== 'running') this.isOver = true;
    this.#noteRetries(kept);
    this.#observe(changes);
    if (endedOf(kept) > 0) wake.announce('events');
  }

  /** For GET /api/providers: with the rows, so that a crash counts no call twice. */
  async #countCalls(tx: Tx, calls: readonly ProviderCall[]): Promise<void> {
    const { job, turn, paces } = this.#opened;
    for (const name of new Set(calls.map((call) => call.provider))) {
      const host = hostOf(name);
      if (host === null) continue;
      const provider = paces.of(name);
      const some = calls.filter((call) => call.provider === name);
      const costs = some.flatMap(({ cost }) => cost ?? []);
      const cost = costs.length === 0 ? null : costs.reduce((sum, one) => sum + one, 0);
      const told = { calls: some.length, cost, inFlight: provider.inFlight, pace: provider.describe() };
      await countCalls(tx, { tenantId: job.tenantId, host }, { workerId: turn.workerId, ...told });
    }
  }

  /** Whether the calls have used up the job's budget. A job that is resumed may spend as much again. */
  async #spend(tx: Tx, calls: readonly ProviderCall[]): Promise<boolean> {
    const { job, processor, options } = this.#opened;
    const cost = calls.reduce((sum, call) => sum + (call.cost ?? 0), 0);
    if (cost === 0) return false;
    const spent = await addJobCost(tx, job, cost);
    const budget = processor.budget?.(options);
    return budget !== undefined && Math.floor(spent / budget) > Math.floor((spent - cost) / budget);
  }

  #noteRetries(kept: readonly ItemChange[]): void {
    const now = performance.now();
    for (const { status, delayMs } of kept) {
      if (status === 'PENDING') this.nextRetryAtMs = Math.min(this.nextRetryAtMs, now + (delayMs ?? 0));
    }
  }

  /** The claim's size follows many rows at a time: of a few, one failure would be a spike. */
  #observe(changes: readonly ItemChange[], isEnd = false): void {
    const seen = this.#seen;
    seen.items += workedOn(changes);
    seen.failures += changes.filter(({ retryClass }) => retryClass === 'transient').length;
    const elapsedMs = performance.now() - seen.sinceMs;
    if (seen.items === 0 || (seen.items < 20 && elapsedMs < 1_000 && !isEnd)) return;
    this.#deps.pacing.observe(this.#opened.job.jobId, { ...seen, elapsedMs });
    this.#seen = { items: 0, failures: 0, sinceMs: performance.now() };
  }
}

function rejectAll(answers: readonly Answer[], error: unknown): void {
  for (const { kept } of answers) kept?.reject(error);
}

function rowOfCall(job: ItemJob, call: ProviderCall) {
  const { tenantId, jobId, userId } = job;
  const { cost = null, tokens = null, error = null } = call;
  return { tenantId, jobId, userId, ...call, tookMs: Math.round(call.tookMs), error, cost, tokens };
}
