import { setTimeout as sleep } from 'node:timers/promises';
import { isSluiceError, messageOf } from '../../../lib/errors.ts';
import type { HandoffPolicy } from '../types.ts';

/** Whether a later attempt may succeed: lost connections, timeouts, rate limits. */
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

export interface GivenUp {
  kind: 'given_up';
  cause: unknown;
  attempts: number;
  reasonCode: 'retry_exhausted' | 'not_transient';
}

/** Tries again after transient errors, and gives up with the last one. */
export async function withAttempts<T>(
  policy: HandoffPolicy,
  work: (attempt: number) => Promise<T>,
  onRetry: (error: unknown) => void = () => {},
): Promise<{ kind: 'done'; value: T } | GivenUp> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return { kind: 'done', value: await work(attempts) };
    } catch (error) {
      const isPassing = isTransient(error);
      if (!isPassing || attempts >= policy.maxAttempts) {
        const reasonCode = isPassing ? 'retry_exhausted' : 'not_transient';
        return { kind: 'given_up', cause: error, attempts, reasonCode };
      }
      onRetry(error);
      const delayMs = delayBefore(attempts, policy);
      if (delayMs > 0) await sleep(delayMs);
    }
  }
}
