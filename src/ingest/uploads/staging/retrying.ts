import { setTimeout as sleep } from 'node:timers/promises';
import { decideRetry, type RetryPolicy, retryPolicies } from '../../../kernel/jobs/retry.ts';
import { isSluiceError } from '../../../lib/errors.ts';

/** The lines of the retry table that are tried again in place, because the work at hand is one transaction. */
export type RetryClass = Exclude<keyof typeof retryPolicies.uploads, 'rate_limit'>;

/** A fact names a parent that is not there yet: another upload may be about to make it. */
export class ParentInFlight extends Error {
  readonly rowIndexes: number[];
  constructor(rowIndexes: number[]) {
    super(`${rowIndexes.length} rows name a parent that is not there`);
    this.rowIndexes = rowIndexes;
  }
}

/** Which line of the table an error falls under; null when trying again is of no use. */
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

/** Gave up: the last error, and the class whose tries are used up. */
export class RetriesExhausted extends Error {
  readonly retryClass: RetryClass;
  constructor(retryClass: RetryClass, cause: unknown) {
    super(`Still failing after all retries of class ${retryClass}`, { cause });
    this.retryClass = retryClass;
  }
}

export interface Retrying {
  signal: AbortSignal;
  onRetry?: (retryClass: RetryClass, error: unknown) => void;
  /** How the delays of the table are waited for: by the clock, unless somebody wants to look at them. */
  wait?: Wait | undefined;
}

export type Wait = (delayMs: number, signal: AbortSignal) => Promise<void>;

const waitByClock: Wait = (delayMs, signal) => sleep(delayMs, undefined, { signal });

/** Tries again as the retry table says. `run` gets how many tries of each class have failed before. */
export async function retrying<T>(
  run: (failed: Record<RetryClass, number>) => Promise<T>,
  { signal, onRetry, wait = waitByClock }: Retrying,
): Promise<T> {
  const failed: Record<RetryClass, number> = { connection: 0, deadlock: 0, parent_in_flight: 0 };
  for (;;) {
    try {
      return await run(failed);
    } catch (error) {
      signal.throwIfAborted();
      const retryClass = retryClassOf(error);
      if (retryClass === null) throw error;
      const policy: RetryPolicy = retryPolicies.uploads[retryClass];
      const decision = decideRetry(policy, failed[retryClass]);
      if (!decision.retry) throw new RetriesExhausted(retryClass, error);
      onRetry?.(retryClass, error);
      failed[retryClass] += 1;
      await wait(decision.delayMs, signal);
    }
  }
}
