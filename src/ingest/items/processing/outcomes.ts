import { decideRetry, type RetryPolicy } from '../../../kernel/jobs/run/retry.ts';
import type { ClaimedItem, ItemBounds, ItemChange, Wait } from '../types.ts';
import { type ItemOutcome, ResultJson, sameAsInput } from './processors/types.ts';

/** The attempts of an item, this one included, and how many of those before were throttled or found nothing. */
type Tried = Pick<ClaimedItem, 'id' | 'attempts'> &
  Partial<Pick<ClaimedItem, 'throttled' | 'notFound' | 'uncharged'>>;
type AttemptBounds = Pick<ItemBounds, 'maxAttemptsError' | 'maxAttemptsNotFound' | 'maxAttemptsThrottled'>;

/**
 * The new state of an item after a processor returned its outcome: a pure function of the item, the outcome, the bounds
 * and chance. `attempts` includes this attempt. Each class of retry has a limit of its own: what a row is allowed for
 * one of them is not used up by another, and not by a crash.
 */
export function changeOf(
  item: Tried,
  outcome: ItemOutcome,
  bounds: AttemptBounds,
  random: () => number = Math.random,
): ItemChange {
  switch (outcome.status) {
    case 'DONE':
      if (outcome.result === sameAsInput) return { ...settled(item, 'DONE'), resultIsInput: true };
      return { ...settled(item, 'DONE'), resultJson: jsonOf(outcome.result), forgetsProgress: true };
    case 'SKIPPED':
      return { ...settled(item, 'SKIPPED'), errorCode: 'skipped', lastError: outcome.reason };
    case 'NOT_FOUND': {
      const change = { ...settled(item, 'NOT_FOUND'), errorCode: 'not_found', lastError: outcome.reason };
      const result = outcome.result === undefined ? {} : { resultJson: jsonOf(outcome.result) };
      const isOver = outcome.retry === 'never' || (item.notFound ?? 0) + 1 >= bounds.maxAttemptsNotFound;
      if (isOver && outcome.retry !== 'at_once') {
        return { ...change, ...result, ...(outcome.startsOver ? { forgetsProgress: true } : {}) };
      }
      // The same request would find nothing again: wait long, then try another strategy.
      const delayMs = outcome.retry === 'at_once' ? 0 : notFoundDelayMs;
      const retry = {
        delayMs,
        nextStrategy: true,
        retryClass: 'not_found',
        waitingFor: 'not_found',
      } as const;
      return { ...change, ...retry, status: 'PENDING' };
    }
    case 'ERROR':
      return outcome.class === 'throttled' && outcome.attemptUnused !== true
        ? changeOfThrottled(item, outcome, bounds.maxAttemptsThrottled, random)
        : changeOfError(item, outcome, bounds.maxAttemptsError, random);
  }
}

/** Unfinished, through no fault of its own: as if it had never been claimed. */
export function givenBack(
  item: Pick<ClaimedItem, 'id'>,
  wait: { delayMs: number; waitingFor: Wait | null } | null = null,
): ItemChange {
  return { ...settled(item, 'PENDING'), givesAttemptBack: true, ...wait };
}

/** The bounds say how often. */
const errorDelay: RetryPolicy['delay'] = { type: 'exponential', baseMs: 500, capMs: 300_000, jitter: 0.25 };
/** Without a Retry-After. It stays short, because the provider's pace slows down too. */
const throttledDelay: RetryPolicy['delay'] = { type: 'exponential', baseMs: 500, capMs: 3_000, jitter: 0.5 };
const notFoundDelayMs = 300_000;
const unusedDelayMs = 1_000;

/** The provider refused this call because of others: the row is tried again, but not for ever. */
function changeOfThrottled(
  item: Tried,
  outcome: Extract<ItemOutcome, { status: 'ERROR' }>,
  maxAttempts: number,
  random: () => number,
): ItemChange {
  const change = { ...settled(item, 'ERROR'), errorCode: outcome.code, lastError: outcome.message };
  const policy = { delay: throttledDelay, maxRetries: maxAttempts - 1 };
  const decision = decideRetry(policy, item.throttled ?? 0, {}, random);
  if (!decision.retry) return change;
  const delayMs = outcome.retryAfterMs ?? decision.delayMs;
  const waitingFor = 'throttled' as const;
  return { ...change, status: 'PENDING', delayMs, retryClass: 'throttled', waitingFor };
}

function changeOfError(
  item: Tried,
  outcome: Extract<ItemOutcome, { status: 'ERROR' }>,
  maxAttempts: number,
  random: () => number,
): ItemChange {
  const change = { ...settled(item, 'ERROR'), errorCode: outcome.code, lastError: outcome.message };
  if (outcome.attemptUnused === true) {
    // It was not processed: given back, which is not a retry.
    const delayMs = outcome.retryAfterMs ?? Math.round(unusedDelayMs * (0.5 + random()));
    if (outcome.waitingFor !== undefined) return givenBack(item, { delayMs, waitingFor: outcome.waitingFor });
    return { ...change, status: 'PENDING', delayMs, givesAttemptBack: true };
  }
  const attempts = item.attempts - (item.throttled ?? 0) - (item.notFound ?? 0) - (item.uncharged ?? 0);
  if (outcome.class === 'permanent' || attempts >= maxAttempts) return change;
  const policy = { delay: errorDelay, maxRetries: maxAttempts - 1 };
  const decision = decideRetry(policy, Math.max(0, attempts - 1), {}, random);
  if (!decision.retry) return change;
  const nextStrategy = outcome.keepsStrategy !== true;
  const retry = { nextStrategy, retryClass: 'transient', waitingFor: 'retry' } as const;
  // A provider that says when to come back is believed, also with an error.
  const delayMs = Math.max(decision.delayMs, outcome.retryAfterMs ?? 0);
  return { ...change, ...retry, delayMs, status: 'PENDING' };
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
    waitingFor: null,
    forgetsProgress: false,
  };
}

/** Replaces NUL characters, which PostgreSQL cannot store in JSON. */
export function jsonOf(value: unknown): string {
  if (value instanceof ResultJson) return value.json;
  const json = JSON.stringify(value ?? null);
  if (!json.includes('\\u0000')) return json;
  // Escape by escape: behind a backslash that is escaped itself, it only looks like one.
  return json.replace(/\\(?:u0000|.)/gs, (found) => (found === '\\u0000' ? '\\ufffd' : found));
}
