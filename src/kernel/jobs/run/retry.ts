/**
 * Retry policies are values, and what follows from one is a pure function of (policy, attempt, error, random). The
 * numbers are the product's defaults; configuration may replace a policy, never the function.
 */
export interface RetryPolicy {
  /** How many retries follow the first try. */
  maxRetries: number;
  delay:
    | { type: 'none' }
    | { type: 'fixed'; delayMs: number }
    /** `baseMs * 2^attempt`, attempt from 0, then ±`jitter` of it, never above `capMs`. */
    | { type: 'exponential'; baseMs: number; capMs: number; jitter: number };
  /** Whether an upstream's Retry-After replaces the delay (capped at `capMs` of the policy, or one hour). */
  honoursRetryAfter?: boolean;
}

export interface RetryError {
  retryAfterMs?: number;
}

export type RetryDecision = { retry: true; delayMs: number; fromRetryAfter: boolean } | { retry: false };

const hourMs = 3_600_000;

/** `attempt` counts the retries already used: 0 after the first failure. `random` is in [0, 1). */
export function decideRetry(
  policy: RetryPolicy,
  attempt: number,
  error: RetryError = {},
  random: () => number = Math.random,
): RetryDecision {
  if (attempt >= policy.maxRetries) return { retry: false };
  if (policy.honoursRetryAfter && error.retryAfterMs !== undefined) {
    const delayMs = Math.min(Math.max(0, error.retryAfterMs), capOf(policy));
    return { retry: true, delayMs, fromRetryAfter: true };
  }
  return { retry: true, delayMs: delayOf(policy, attempt, random), fromRetryAfter: false };
}

/** For errors that nobody foresaw: retried within limits, logged loudly. */
export const unexpectedRetries = {
  bug: { maxRetries: 3, delay: { type: 'exponential', baseMs: 1_000, capMs: 60_000, jitter: 0.25 } },
} as const satisfies Record<string, RetryPolicy>;

function capOf(policy: RetryPolicy): number {
  return policy.delay.type === 'exponential' ? policy.delay.capMs : hourMs;
}

function delayOf({ delay }: RetryPolicy, attempt: number, random: () => number): number {
  switch (delay.type) {
    case 'none':
      return 0;
    case 'fixed':
      return delay.delayMs;
    case 'exponential': {
      const exact = delay.baseMs * 2 ** attempt;
      const jittered = exact * (1 + delay.jitter * (2 * random() - 1));
      return Math.min(Math.round(jittered), delay.capMs);
    }
  }
}
