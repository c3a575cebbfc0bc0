import { decideRetry, type RetryPolicy } from '../../kernel/jobs/run/retry.ts';
import type { Job, JobFailure, SliceResult } from '../../kernel/jobs/types.ts';
import type { SecretPurse } from '../../kernel/secrets/lent-secret.ts';
import { isSluiceError, messageOf } from '../../lib/errors.ts';
import { classOfError, PullProblem } from './places/problems.ts';
import { saveResult } from './store.ts';
import { maxRetries, type Source } from './types.ts';

/** The numbers that govern pulls, from the settings. */
export interface PullPolicy {
  retryBaseMs: number;
  /** Between two looks at a report that is being prepared, or at files that may still be written. */
  pollMs: number;
}

const backoff = { type: 'exponential', baseMs: 60_000, capMs: 3_600_000, jitter: 0.25 } as const;

/** The retry table of pulls. What a person has to correct becomes a dead letter at once. */
const pullRetries = {
  rate_limit: { maxRetries, delay: backoff, honoursRetryAfter: true },
  server: { maxRetries, delay: backoff, honoursRetryAfter: true },
} as const satisfies Record<string, RetryPolicy>;

/** What follows from an error of a pull. The reason is kept with the source, for who looks at it. */
export function failedPull(
  error: unknown,
  {
    job,
    source,
    purse,
    policy,
  }: { job: Job; source: Source; purse: SecretPurse; policy: Pick<PullPolicy, 'retryBaseMs'> },
): SliceResult {
  const problemClass = isOfStorage(error) ? null : classOfError(error);
  // An error that nobody foresaw has a retry policy of its own.
  if (problemClass === null) throw error;
  const failure: JobFailure = {
    code: error instanceof PullProblem || isSluiceError(error) ? error.code : 'unexpected_failure',
    message: purse.scrub(messageOf(error)).slice(0, 2_000),
    class: problemClass,
  };
  const isRetried = problemClass === 'rate_limit' || problemClass === 'server';
  const table = isRetried ? withBase(pullRetries[problemClass], policy.retryBaseMs) : null;
  const retryAfterMs = error instanceof PullProblem ? error.retryAfterMs : undefined;
  const decision =
    table === null
      ? null
      : decideRetry(table, job.retryCount, retryAfterMs === undefined ? {} : { retryAfterMs });
  const isLast = decision === null || !decision.retry;
  const next = isLast ? '' : ' It is tried again.';
  const result = {
    message: `The pull failed: ${failure.message}${next}`,
    ...{ range: null, upload_ids: [], unchanged: 0, refused: 0 },
  };
  const effects = (tx: Parameters<typeof saveResult>[0]) => saveResult(tx, source, { result, isGood: false });
  if (decision === null || !decision.retry) return { outcome: { type: 'dead', failure }, effects };
  const { delayMs, fromRetryAfter: notBefore } = decision;
  return { outcome: { type: 'retry', failure, delayMs, notBefore }, effects };
}

function withBase(policy: RetryPolicy, baseMs: number): RetryPolicy {
  return policy.delay.type === 'exponential' ? { ...policy, delay: { ...policy.delay, baseMs } } : policy;
}

/** Not the pull's fault: the kernel waits until files can be read again. */
function isOfStorage(error: unknown): boolean {
  return isSluiceError(error) && error.code === 'files_unavailable';
}
