import { decideRetry, retryPolicies } from '../../kernel/jobs/retry.ts';
import type { ItemOutcome } from './processors/types.ts';
import type { ClaimedItem, ItemBounds, ItemChange } from './types.ts';

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
      return { ...settled(item, 'DONE'), resultJson: jsonOf(outcome.result) };
    case 'SKIPPED':
      return { ...settled(item, 'SKIPPED'), errorCode: 'skipped', lastError: outcome.reason };
    case 'NOT_FOUND': {
      const change = { ...settled(item, 'NOT_FOUND'), errorCode: 'not_found', lastError: outcome.reason };
      const result = outcome.result === undefined ? {} : { resultJson: jsonOf(outcome.result) };
      if (item.attempts >= bounds.maxAttemptsNotFound) return { ...change, ...result };
      // Asking the same thing again at once would find the same nothing: wait long, then ask in another way.
      return { ...change, status: 'PENDING', delayMs: notFoundDelayMs, nextStrategy: true };
    }
    case 'ERROR':
      return changeOfError(item, outcome, bounds.maxAttemptsError, random);
  }
}

/** Unfinished at a pause or a stop: as if it had never been taken. */
export function givenBack(item: Pick<ClaimedItem, 'id'>): ItemChange {
  return { ...settled(item, 'PENDING'), givesAttemptBack: true };
}

const notFoundDelayMs = retryPolicies.items.not_found.delay.delayMs;
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
    return { ...change, status: 'PENDING', delayMs, givesAttemptBack: true };
  }
  if (outcome.class === 'permanent' || item.attempts >= maxAttempts) return change;
  const policy = { ...retryPolicies.items.error, maxRetries: maxAttempts - 1 };
  const decision = decideRetry(policy, item.attempts - 1, {}, random);
  if (!decision.retry) return change;
  return { ...change, status: 'PENDING', delayMs: decision.delayMs, nextStrategy: true };
}

function settled(item: Pick<ClaimedItem, 'id'>, status: ItemChange['status']): ItemChange {
  return {
    id: item.id,
    status,
    resultJson: null,
    errorCode: null,
    lastError: null,
    delayMs: null,
    givesAttemptBack: false,
    nextStrategy: false,
  };
}

/** What PostgreSQL cannot hold in JSON is replaced: NUL characters have no place in a text. */
function jsonOf(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  return JSON.stringify(value ?? null).replaceAll('\\u0000', '\\ufffd');
}

/** JSON text that is handed on as it is, so that numbers of any length survive. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}
