const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

/** Between ten tries: just under three days, most of it for receivers that are down over a weekend. */
const delaysMs = [
  5 * secondMs,
  30 * secondMs,
  5 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  5 * hourMs,
  10 * hourMs,
  20 * hourMs,
  34 * hourMs,
];
const defaultBaseMs = 5 * secondMs;
const jitter = 0.1;
/** A longer Retry-After is cut to this: otherwise the subject could wait for weeks. */
export const maxRetryAfterMs = 24 * hourMs;

/** How long to wait after the given number of failed tries. */
export function retryDelayMs(
  { tries, baseMs, retryAfterMs }: { tries: number; baseMs: number; retryAfterMs?: number | undefined },
  random: () => number = Math.random,
): number {
  const exact = delaysMs[Math.min(tries, delaysMs.length) - 1] ?? 0;
  const scaled = exact * (baseMs / defaultBaseMs) * (1 + jitter * (2 * random() - 1));
  // Not before the time that the receiver asked for, and not earlier than planned.
  return Math.round(Math.max(scaled, Math.min(retryAfterMs ?? 0, maxRetryAfterMs)));
}
