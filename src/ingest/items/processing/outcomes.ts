import { decideRetry, type RetryPolicy } from '../../../kernel/jobs/retry.ts';
import type { ClaimedItem, ItemBounds, ItemChange } from '../types.ts';
import { type ItemOutcome, sameAsInput } from './processors/types.ts';

/**
 * What becomes of an item after a processor said how it went: a pure function of the item, the outcome, the bounds
 * and chance. `attempts` counts this attempt already.
 */
export function changeOf(
  item: Pick<ClaimedItem, 'id' | 'attempts'>,
  outcome: ItemOutcome,
  bounds: Pick<ItemBounds, 'maxAttemptsError' | 'maxAttemptsNotFound'>,
  random: () => number = Math.random,
): ItemChange {
  switch (outcome.status) {
    case 'DONE':
      if (outcome.result === sameAsInput) return { ...settled(item, 'DONE'), resultIsInput: true };
      return { ...settled(item, 'DONE'), resultJson: jsonOf(outcome.result) };
    case 'SKIPPED':
      return { ...settled(item, 'SKIPPED'), errorCode: 'skipped', lastError: outcome.reason };
    case 'NOT_FOUND': {
      const change = { ...settled(item, 'NOT_FOUND'), errorCode: 'not_found', lastError: outcome.reason };
      const result = outcome.result === undefined ? {} : { resultJson: jsonOf(outcome.result) };
      const isOver = outcome.retry === 'never' || item.attempts >= bounds.maxAttemptsNotFound;
      if (isOver && outcome.retry !== 'at_once') return { ...change, ...result };
      // Asking the same thing again at once would find the same nothing: wait long, then ask in another way.
      const delayMs = outcome.retry === 'at_once' ? 0 : notFoundDelayMs;
      const retry = { delayMs, nextStrategy: true, retryClass: 'not_found' } as const;
      return { ...change, ...retry, status: 'PENDING' };
    }
    case 'ERROR':
      return changeOfError(item, outcome, bounds.maxAttemptsError, random);
  }
}

/** Unfinished at a pause or a stop: as if it had never been taken. */
export function givenBack(item: Pick<ClaimedItem, 'id'>): ItemChange {
  return { ...settled(item, 'PENDING'), givesAttemptBack: true };
}

/** How often is for the bounds to say. */
const errorDelay: RetryPolicy['delay'] = { type: 'exponential', baseMs: 1_000, capMs: 300_000, jitter: 0.25 };
const notFoundDelayMs = 300_000;
const throttledDelayMs = 1_000;

function changeOfError(
  item: Pick<ClaimedItem, 'id' | 'attempts'>,
  outcome: Extract<ItemOutcome, { status: 'ERROR' }>,
  maxAttempts: number,
  random: () => number,
): ItemChange {
  const change = { ...settled(item, 'ERROR'), errorCode: outcome.code, lastError: outcome.message };
  if (outcome.class === 'throttled' || outcome.attemptUnused === true) {
    const delayMs = outcome.retryAfterMs ?? Math.round(throttledDelayMs * (0.5 + random()));
    // A slice that was stopped gives its items back; nobody decided to try them again.
    const retryClass = outcome.class === 'throttled' ? 'throttled' : null;
    return { ...change, status: 'PENDING', delayMs, givesAttemptBack: true, retryClass };
  }
  if (outcome.class === 'permanent' || item.attempts >= maxAttempts) return change;
  const policy = { delay: errorDelay, maxRetries: maxAttempts - 1 };
  const decision = decideRetry(policy, item.attempts - 1, {}, random);
  if (!decision.retry) return change;
  const nextStrategy = outcome.keepsStrategy !== true;
  const retry = { delayMs: decision.delayMs, nextStrategy, retryClass: 'transient' } as const;
  return { ...change, ...retry, status: 'PENDING' };
}

function settled(item: Pick<ClaimedItem, 'id'>, status: ItemChange['status']): ItemChange {
  return {
    id: item.id,
    status,
    resultJson: null,
    resultIsInput: false,
    errorCode: null,
    lastError: null,
    delayMs: null,
    givesAttemptBack: false,
    nextStrategy: false,
    retryClass: null,
  };
}

/** What PostgreSQL cannot hold in JSON is replaced: NUL characters have no place in a text. */
function jsonOf(value: unknown): string {
  const json = JSON.stringify(value ?? null);
  if (!json.includes('\\u0000')) return json;
  // Behind an even number of backslashes it is an escape; behind an odd one it is only text that looks like it.
  return json.replace(/(?<!\\)((?:\\\\)*)\\u0000/g, '$1\\ufffd');
}
