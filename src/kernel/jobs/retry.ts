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

/** Seconds or an HTTP date; a date counts from the answer's own Date header, because clocks differ. */
export function parseRetryAfter(
  header: string | null | undefined,
  dateHeader?: string | null,
): number | undefined {
  if (header === null || header === undefined || header.trim() === '') return undefined;
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1000;
  const at = isHttpDate(header) ? Date.parse(header) : Number.NaN;
  if (Number.isNaN(at)) return undefined;
  const now = dateHeader ? Date.parse(dateHeader) : Date.now();
  return Math.max(0, at - (Number.isNaN(now) ? Date.now() : now));
}

/** All forms of an HTTP date begin with the weekday. Date.parse alone takes "-5" and "soon 7" for days in 2001. */
function isHttpDate(header: string): boolean {
  return /^\s*(Mon|Tues?|Wed(nes)?|Thu(rs)?|Fri|Sat(ur)?|Sun)(day)?\b/.test(header);
}

/** The retry table: one policy per pipeline and class of error. */
export const retryPolicies = {
  connectors: {
    auth: { maxRetries: 0, delay: { type: 'none' } },
    rate_limit: {
      maxRetries: 5,
      delay: { type: 'exponential', baseMs: 60_000, capMs: hourMs, jitter: 0.25 },
      honoursRetryAfter: true,
    },
    server: { maxRetries: 5, delay: { type: 'exponential', baseMs: 60_000, capMs: hourMs, jitter: 0.25 } },
  },
  uploads: {
    connection: { maxRetries: 3, delay: { type: 'exponential', baseMs: 1_000, capMs: 4_000, jitter: 0 } },
    deadlock: { maxRetries: 3, delay: { type: 'exponential', baseMs: 100, capMs: 400, jitter: 0 } },
    rate_limit: { maxRetries: 5, delay: { type: 'fixed', delayMs: 60_000 } },
    parent_in_flight: { maxRetries: 3, delay: { type: 'exponential', baseMs: 100, capMs: 400, jitter: 0 } },
  },
  knowledge: {
    // Three attempts: two retries after min(2^attempt * 2, 60) seconds, attempt from 1.
    chunk: { maxRetries: 2, delay: { type: 'exponential', baseMs: 4_000, capMs: 60_000, jitter: 0 } },
  },
  scrapes: {
    // Three attempts of base * 2^(attempt - 1); the base is 0 unless HANDOFF_RETRY_BASE_MS says otherwise.
    transient: { maxRetries: 2, delay: { type: 'exponential', baseMs: 0, capMs: 60_000, jitter: 0 } },
  },
  /** Errors that nobody foresaw: retried within limits, logged loudly. */
  unexpected: {
    bug: { maxRetries: 3, delay: { type: 'exponential', baseMs: 1_000, capMs: 60_000, jitter: 0.25 } },
  },
} as const satisfies Record<string, Record<string, RetryPolicy>>;

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
