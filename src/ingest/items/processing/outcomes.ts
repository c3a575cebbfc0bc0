import { decideRetry, type RetryPolicy } from '../../../kernel/jobs/run/retry.ts';
import type { ClaimedItem, ItemBounds, ItemChange } from '../types.ts';
import { type ItemOutcome, ResultJson, sameAsInput } from './processors/types.ts';

/**
 * The new state of an item after a processor returned its outcome: a pure function of the item, the outcome, the bounds
 * and chance. `attempts` includes this attempt.
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
      // The same request would find nothing again: wait long, then try another strategy.
      const delayMs = outcome.retry === 'at_once' ? 0 : notFoundDelayMs;
      const retry = { delayMs, nextStrategy: true, retryClass: 'not_found' } as const;
      return { ...change, ...retry, status: 'PENDING' };
    }
    case 'ERROR':
      return changeOfError(item, outcome, bounds.maxAttemptsError, random);
  }
}

/** Unfinished at a pause or a stop: as if it had never been claimed. */
export function givenBack(item: Pick<ClaimedItem, 'id'>): ItemChange {
  return { ...settled(item, 'PENDING'), givesAttemptBack: true };
}

/** The bounds say how often. */
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
    // A stopped slice gives its items back; that is not a retry.
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

/** Replaces NUL characters, which PostgreSQL cannot store in JSON. */
export function jsonOf(value: unknown): string {
  if (value instanceof ResultJson) return value.json;
  const json = JSON.stringify(value ?? null);
  if (!json.includes('\\u0000')) return json;
  // After an even number of backslashes it is an escape; after an odd one it only looks like it.
  return json.replace(/(?<!\\)((?:\\\\)*)\\u0000/g, '$1\\ufffd');
}
