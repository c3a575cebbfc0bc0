import { decideRetry, type RetryPolicy } from '../../../kernel/jobs/run/retry.ts';
import type { Job, JobFailure, Outcome } from '../../../kernel/jobs/types.ts';
import type { AirbyteProblem } from '../airbyte/types.ts';
import { maxRetries, type Notice } from '../types.ts';

const backoff = { type: 'exponential', baseMs: 60_000, capMs: 3_600_000, jitter: 0.25 } as const;

/** The retry table of syncs. Credentials that are refused get no retry: they become a dead letter at once. */
export const syncRetries = {
  auth: { maxRetries: 0, delay: { type: 'none' } },
  rate_limit: { maxRetries, delay: backoff, honoursRetryAfter: true },
  server: { maxRetries, delay: backoff },
} as const satisfies Record<string, RetryPolicy>;

/** Airbyte has already retried a failed sync itself, so two more are enough. */
const maxFailedSyncs = 2;

/** What follows from an error of the API while triggering, by the retry table. */
export function outcomeOf(
  problem: AirbyteProblem,
  job: Job,
  { retryBaseMs }: { retryBaseMs: number },
): Outcome {
  const failure = failureOf(problem);
  if (problem.class === 'auth' || problem.class === 'permanent') return { type: 'dead', failure };
  const { rate_limit: throttled, server } = syncRetries;
  const policy = withBase(problem.class === 'rate_limit' ? throttled : server, retryBaseMs);
  const asked = problem.retryAfterMs === null ? {} : { retryAfterMs: problem.retryAfterMs };
  const decision = decideRetry(policy, job.retryCount, asked);
  if (!decision.retry) return { type: 'dead', failure: withNext(failure, usedUp) };
  const { delayMs, fromRetryAfter: notBefore } = decision;
  return { type: 'retry', failure: withNext(failure, 'It is tried again later.'), delayMs, notBefore };
}

const usedUp = 'Its retries are used up: requeue the job when Airbyte works again.';

function withNext(failure: JobFailure, next: string): JobFailure {
  return { ...failure, message: `${failure.message} ${next}` };
}

/** `failedBefore`: how many runs of this job Airbyte has reported as failed before this one. */
export function syncFailedOutcome(
  job: Job,
  { message, failedBefore, retryBaseMs }: { message: string; failedBefore: number; retryBaseMs: number },
): Outcome {
  const failure: JobFailure = { code: 'sync_failed', message, class: 'sync_failed' };
  const policy = { ...withBase(syncRetries.server, retryBaseMs), maxRetries: maxFailedSyncs };
  const decision = decideRetry(policy, failedBefore);
  if (!decision.retry || job.retryCount >= maxRetries) return { type: 'dead', failure };
  return { type: 'retry', failure, delayMs: decision.delayMs };
}

/** Dead at once: Airbyte would fail the same way until the source or destination is set up rightly. */
export function configErrorOutcome({ runId, errorMessage }: Pick<Notice, 'runId' | 'errorMessage'>): Outcome {
  const reason = errorMessage ?? 'the settings of its source or destination are wrong';
  return dead('config_error', `Run ${runId} of Airbyte failed because of its configuration: ${reason}`);
}

export function dead(code: string, message: string, errorClass = 'permanent'): Outcome {
  return { type: 'dead', failure: { code, message, class: errorClass } };
}

/** 401 and 403 share one code; the message quotes Airbyte. */
function failureOf({ code, class: errorClass, message }: AirbyteProblem): JobFailure {
  return { code: code === 'forbidden' ? 'auth_error' : code, message, class: errorClass };
}

function withBase(policy: RetryPolicy, baseMs: number): RetryPolicy {
  return policy.delay.type === 'exponential' ? { ...policy, delay: { ...policy.delay, baseMs } } : policy;
}
