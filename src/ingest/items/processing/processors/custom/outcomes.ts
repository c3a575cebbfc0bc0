import { findTooDeep, maxJsonDepth } from '../../../../../lib/json-depth.ts';
import { toStorable } from '../../../../../lib/well-formed.ts';
import { processorErrors } from '../errors.ts';
import { failure, failureOf } from '../outcomes.ts';
import type { ErrorClass, ItemInput, ItemOutcome } from '../types.ts';
import { nameOfType } from './define-processor.ts';

const statuses = ['DONE', 'SKIPPED', 'NOT_FOUND', 'ERROR'];
const classes = ['permanent', 'transient', 'throttled'];
const maxTextLength = 1000;
const maxCodeLength = 100;
const maxResultChars = 4 * 1024 * 1024;
const maxRetryAfterMs = 24 * 3_600_000;

/** The processor that returned the outcomes, and how many strategies it has. */
export interface Checked {
  name: string;
  strategies: number;
}

/** One outcome per item. With another number, all items fail: nobody knows which outcome belongs to which. */
export function checkOutcomes(outcomes: unknown, { items, ...checked }: Checked & { items: ItemInput[] }) {
  if (!Array.isArray(outcomes) || outcomes.length !== items.length) {
    const found = Array.isArray(outcomes) ? `${outcomes.length} outcomes` : nameOfType(outcomes);
    const error = processorErrors.raise.processor_misbehaved(
      `The processor ${checked.name} returned ${found} for ${items.length} items; it must return one outcome per item`,
    );
    return items.map(() => storableFailure(error));
  }
  return items.map((item, index) => checkOutcome(outcomes[index], { ...checked, item }));
}

/**
 * An outcome that the database can store. Garbage becomes the error of its own item; otherwise it would fail the whole
 * batch, with the good items in it, again and again.
 */
export function checkOutcome(outcome: unknown, checked: Checked & { item: ItemInput }): ItemOutcome {
  try {
    return readOutcome((outcome ?? {}) as Record<string, unknown>, checked);
  } catch (error) {
    return storableFailure(error);
  }
}

/** The thrown error as an outcome, with text that a row can hold. */
export function storableFailure(error: unknown): ItemOutcome {
  const failed = failureOf(error);
  return { ...failed, code: shortText(failed.code, maxCodeLength), message: shortText(failed.message) };
}

function readOutcome(
  outcome: Record<string, unknown>,
  { name, item, strategies }: Checked & { item: ItemInput },
): ItemOutcome {
  const { status, result, reason, retry } = outcome;
  // Without another strategy, retrying at once would never end: then the usual rule applies.
  const isRetry = retry === 'never' || (retry === 'at_once' && item.strategy + 1 < strategies);
  switch (status) {
    case 'DONE':
      return { status, result: result === item.input ? result : storableResult(result, name) };
    case 'SKIPPED':
      return { status, reason: shortText(reason ?? 'skipped') };
    case 'NOT_FOUND':
      return {
        status,
        reason: shortText(reason ?? 'not found'),
        ...(result === undefined ? {} : { result: storableResult(result, name) }),
        ...(isRetry ? { retry } : {}),
      };
    case 'ERROR':
      return readError(outcome);
    default:
      throw processorErrors.raise.processor_misbehaved(
        `The processor ${name} returned ${describeStatus(outcome)}. Allowed: a status of ${statuses.join(', ')}`,
      );
  }
}

function readError({ code, message, retryAfterMs, ...rest }: Record<string, unknown>): ItemOutcome {
  const isWait = typeof retryAfterMs === 'number' && retryAfterMs >= 0;
  return failure({
    code: shortText(code ?? 'processor_failed', maxCodeLength),
    message: shortText(message ?? 'The processor gave no reason'),
    class: classes.includes(String(rest.class)) ? (rest.class as ErrorClass) : 'transient',
    ...(isWait ? { retryAfterMs: Math.round(Math.min(retryAfterMs, maxRetryAfterMs)) } : {}),
    ...(rest.attemptUnused === true ? { attemptUnused: true } : {}),
  });
}

/** As JSON stores it: dates become texts, and what JSON cannot express is refused. */
function storableResult(result: unknown, name: string): unknown {
  const text = toJson(result ?? null, name);
  if (text.length > maxResultChars) {
    throw processorErrors.raise.processor_misbehaved(
      `The processor ${name} returned a result of ${text.length} characters. Allowed: at most ${maxResultChars}`,
    );
  }
  if (text.length > maxJsonDepth && findTooDeep(Buffer.from(text)) !== -1) {
    throw processorErrors.raise.processor_misbehaved(
      `The processor ${name} returned a result that is nested deeper than ${maxJsonDepth} levels, the most allowed`,
    );
  }
  return suspicious.test(text) ? toStorable(JSON.parse(text)) : result;
}

function toJson(result: unknown, name: string): string {
  try {
    const text = JSON.stringify(result) as string | undefined;
    if (text !== undefined) return text;
  } catch (cause) {
    throw processorErrors.raise.processor_misbehaved(
      `The processor ${name} returned a result that is not JSON: ${String(cause)}`,
      { cause },
    );
  }
  throw processorErrors.raise.processor_misbehaved(
    `The processor ${name} returned ${nameOfType(result)} as its result. Allowed: what JSON can hold`,
  );
}

/** JSON writes NUL characters and broken surrogate pairs as escapes. */
const suspicious = /\\u(0000|d[89a-f])/i;

function shortText(value: unknown, max = maxTextLength): string {
  return String(toStorable(String(value).slice(0, max)));
}

function describeStatus(outcome: Record<string, unknown>): string {
  if (typeof outcome !== 'object') return nameOfType(outcome);
  const { status } = outcome;
  return typeof status === 'string' ? `the status "${status.slice(0, 50)}"` : 'no status';
}
