import { setTimeout as sleep } from 'node:timers/promises';
import { isSluiceError, messageOf } from '../../../lib/errors.ts';
import type { HandoffPolicy } from '../types.ts';

/** Another time it may work: lost connections, timeouts, too much at once. */
export function isTransient(error: unknown): boolean {
  if (isSluiceError(error)) return error.kind === 'transient' || error.kind === 'rate_limited';
  const { code = '' } = (error ?? {}) as { code?: unknown };
  return passing.test(messageOf(error)) || passing.test(String(code));
}

const passing =
  /time(d)? ?out|etimedout|econn|epipe|connection|socket hang up|rate.?limit|too many requests|\b(429|503)\b/i;

export function delayBefore(attempt: number, { retryBaseMs }: Pick<HandoffPolicy, 'retryBaseMs'>): number {
  return retryBaseMs * 2 ** (attempt - 1);
}

export class GivenUp extends Error {
  readonly attempts: number;
  readonly reasonCode: 'retry_exhausted' | 'not_transient';

  constructor(cause: unknown, attempts: number) {
    super(messageOf(cause), { cause });
    this.attempts = attempts;
    this.reasonCode = isTransient(cause) ? 'retry_exhausted' : 'not_transient';
  }
}

/** Tries again after passing errors; throws GivenUp with the last one. */
export async function withAttempts<T>(
  policy: HandoffPolicy,
  work: (attempt: number) => Promise<T>,
  onRetry: (error: unknown) => void = () => {},
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(attempt);
    } catch (error) {
      if (!isTransient(error) || attempt >= policy.maxAttempts) throw new GivenUp(error, attempt);
      onRetry(error);
      const delayMs = delayBefore(attempt, policy);
      if (delayMs > 0) await sleep(delayMs);
    }
  }
}
