import { setTimeout as sleep } from 'node:timers/promises';
import { decideRetry, type RetryPolicy } from '../../../kernel/jobs/run/retry.ts';
import { isSluiceError } from '../../../lib/errors.ts';

/** The retry table of uploads: one policy per class of error. */
export const uploadRetries = {
  connection: { maxRetries: 3, delay: { type: 'exponential', baseMs: 1_000, capMs: 4_000, jitter: 0 } },
  deadlock: { maxRetries: 3, delay: { type: 'exponential', baseMs: 100, capMs: 400, jitter: 0 } },
  rate_limit: { maxRetries: 5, delay: { type: 'fixed', delayMs: 60_000 } },
  parent_in_flight: { maxRetries: 3, delay: { type: 'exponential', baseMs: 100, capMs: 400, jitter: 0 } },
} as const satisfies Record<string, RetryPolicy>;

/** The classes that are retried at once within a slice, because the work is one transaction. */
export type RetryClass = Exclude<keyof typeof uploadRetries, 'rate_limit'>;

/** A fact names a parent that does not exist yet; another upload may be about to create it. */
export class ParentInFlight extends Error {
  readonly rowIndexes: number[];
  constructor(rowIndexes: number[]) {
    super(`${rowIndexes.length} rows name a parent that does not exist`);
    this.rowIndexes = rowIndexes;
  }
}

/** The class of an error in the table; null when a retry cannot help. */
export function retryClassOf(error: unknown): RetryClass | null {
  if (error instanceof ParentInFlight) return 'parent_in_flight';
  if (isSluiceError(error)) return classOfCode[error.code] ?? null;
  // A parent that was deleted between being looked up and being used.
  return (error as { code?: unknown }).code === '23503' ? 'parent_in_flight' : null;
}

const classOfCode: Record<string, RetryClass> = {
  database_unavailable: 'connection',
  commit_unknown: 'connection',
  query_timeout: 'connection',
  write_conflict: 'deadlock',
};

/** All retries of a class are used up; `cause` is the last error. */
export class RetriesExhausted extends Error {
  readonly retryClass: RetryClass;
  constructor(retryClass: RetryClass, cause: unknown) {
    super(`Still failing after all retries of class ${retryClass}`, { cause });
    this.retryClass = retryClass;
  }
}

export interface RetryOptions {
  signal: AbortSignal;
  onRetry?: (retryClass: RetryClass, error: unknown) => void;
  /** How to wait for a delay. The default sleeps; tests record the delays instead. */
  wait?: Wait | undefined;
}

export type Wait = (delayMs: number, signal: AbortSignal) => Promise<void>;

const waitByClock: Wait = (delayMs, signal) => sleep(delayMs, undefined, { signal });

/** Retries as the table says. `run` is told how many tries of each class have failed. */
export async function withRetries<T>(
  run: (failed: Record<RetryClass, number>) => Promise<T>,
  { signal, onRetry, wait = waitByClock }: RetryOptions,
): Promise<T> {
  const failed: Record<RetryClass, number> = { connection: 0, deadlock: 0, parent_in_flight: 0 };
  for (;;) {
    try {
      return await run(failed);
    } catch (error) {
      signal.throwIfAborted();
      const retryClass = retryClassOf(error);
      if (retryClass === null) throw error;
      const decision = decideRetry(uploadRetries[retryClass], failed[retryClass]);
      if (!decision.retry) throw new RetriesExhausted(retryClass, error);
      onRetry?.(retryClass, error);
      failed[retryClass] += 1;
      await wait(decision.delayMs, signal);
    }
  }
}
