import type { FetchAnswer } from '../../../../../lib/fetch/guarded-fetch.ts';
import { parseRetryAfter } from '../../../../../lib/fetch/retry-after.ts';
import { maxJsonDepth } from '../../../../../lib/json-depth.ts';
import { parseJsonInTurns } from '../../../../../lib/json-in-turns.ts';
import { isJsonLonger } from '../../../../../lib/json-length.ts';
import { parseExactly } from '../../../../../lib/rows/exact-json.ts';
import { createTurns } from '../../../../../lib/timing/event-loop-turns.ts';
import { toStorable } from '../../../../../lib/well-formed.ts';
import { failure } from '../outcomes.ts';
import type { ItemError, ItemInput, ItemOutcome } from '../types.ts';
import type { HttpCondition, HttpErrorCondition, HttpOptions } from './options.ts';
import { readPath } from './paths.ts';
import { textOf } from './template.ts';

export interface ProviderAnswer {
  host: string;
  status: number;
  headers: Record<string, string>;
  /** The body, or the beginning of a large one. */
  text: string;
  /** Undefined when the body is not what was expected. */
  value: unknown;
  /** Such a body is not parsed. */
  isTooDeep?: true;
  /** Removes the secret from a text: providers often quote the key that they refuse. */
  scrub(text: string): string;
}

const maxRetryAfterMs = 24 * 3_600_000;
const maxResultBytes = 256 * 1024;
const maxQuoteLength = 200;
/** Longer than a quote and the longest secret in its longest spelling. */
const maxScrubbed = 128 * 1024;
/** Enough for a quote, and for a text that is too large as a result. */
const maxTextBytes = 4 * maxResultBytes;

export async function readAnswer(
  { status, headers, body }: FetchAnswer<Buffer>,
  { host, format, scrub }: Pick<ProviderAnswer, 'host' | 'scrub'> & { format: 'json' | 'text' },
): Promise<ProviderAnswer> {
  const text = new TextDecoder().decode(body.subarray(0, maxTextBytes));
  const answer = { host, status, headers, text, scrub };
  if (format === 'text') return { ...answer, value: text };
  if (body.length === 0 && status === 204) return { ...answer, value: null };
  const parsed = await parseJsonInTurns(body, parseExactly);
  if ('value' in parsed) return { ...answer, value: parsed.value };
  // Whether a body that is no JSON is an error depends on the status; the caller sees no value.
  return { ...answer, value: undefined, ...(parsed.problem === 'too_deep' ? { isTooDeep: true } : {}) };
}

/** The outcome of a call that was made for one item. */
export function interpretAnswer(answer: ProviderAnswer, options: HttpOptions): ItemOutcome {
  const { errorWhen, notFoundWhen = [{ status: 404 }] } = options.response;
  const error = findError(answer, errorWhen);
  if (error !== null) return error;
  if (notFoundWhen.some((condition) => holds(condition, answer))) return notFound(answer.host);
  return findRefusal(answer) ?? toResult(answer.value, options);
}

/** The outcomes of a call that was made for many items. */
export async function interpretBatch(
  answer: ProviderAnswer,
  items: ItemInput[],
  options: HttpOptions,
): Promise<ItemOutcome[]> {
  const failed = findBatchFailure(answer, options);
  if (failed !== null) return items.map(() => failed);
  const { path, match } = options.batch ?? { path: '', match: { by: 'index' } };
  const entries = readPath(answer.value, path);
  if (!Array.isArray(entries)) {
    return items.map(() => garbage(answer, `has no list at ${JSON.stringify(path)}`));
  }
  if (match.by === 'key') {
    // The first of several results with the same key counts.
    const byKey = new Map(entries.toReversed().map((entry) => [String(readPath(entry, match.path)), entry]));
    const entryOf = ({ input }: ItemInput) => byKey.get(textOf(input, match.column) ?? '');
    return inTurns(items, (item) => interpretEntry(entryOf(item), answer, options));
  }
  if (entries.length !== items.length) {
    return items.map(() => garbage(answer, `has ${entries.length} entries for ${items.length} items`));
  }
  return inTurns(entries, (entry) => interpretEntry(entry, answer, options));
}

/** A thousand entries may hold megabytes. */
async function inTurns<One>(
  all: readonly One[],
  interpret: (one: One) => ItemOutcome,
): Promise<ItemOutcome[]> {
  const takeTurn = createTurns();
  const outcomes: ItemOutcome[] = [];
  for (const one of all) {
    outcomes.push(interpret(one));
    await takeTurn();
  }
  return outcomes;
}

function interpretEntry(entry: unknown, answer: ProviderAnswer, options: HttpOptions): ItemOutcome {
  if (entry === undefined || entry === null) return notFound(answer.host);
  const { errorWhen, notFoundWhen = [] } = options.response;
  const ofEntry = { ...answer, value: entry };
  const isAboutEntry = (condition: HttpCondition) => condition.path !== undefined;
  const error = findError(ofEntry, errorWhen.filter(isAboutEntry));
  if (error !== null) return error;
  if (notFoundWhen.filter(isAboutEntry).some((condition) => holds(condition, ofEntry))) {
    return notFound(answer.host);
  }
  return toResult(entry, options);
}

function findBatchFailure(answer: ProviderAnswer, options: HttpOptions): ItemOutcome | null {
  const isAboutCall = (condition: HttpCondition) => condition.path === undefined;
  const { errorWhen, notFoundWhen = [] } = options.response;
  const error = findError(answer, errorWhen.filter(isAboutCall));
  if (error !== null) return error;
  if (notFoundWhen.filter(isAboutCall).some((condition) => holds(condition, answer))) {
    return notFound(answer.host);
  }
  return findRefusal(answer);
}

function findError(answer: ProviderAnswer, conditions: HttpErrorCondition[]): ItemError | null {
  const condition = conditions.find((candidate) => holds(candidate, answer));
  if (condition === undefined) return null;
  const said =
    condition.messagePath === undefined ? undefined : readPath(answer.value, condition.messagePath);
  const reason = typeof said === 'string' ? answer.scrub(said.slice(0, maxScrubbed)) : quote(answer);
  return failure({
    code: condition.class === 'throttled' ? 'provider_throttled' : 'provider_error',
    message: `${answer.host} returned an error: ${reason}`,
    class: condition.class,
    ...retryAfterOf(answer),
  });
}

/** A failure by status alone, or by an unexpected body; null when the response can be used. */
function findRefusal(answer: ProviderAnswer): ItemError | null {
  const { host, status, text } = answer;
  const message = `${host} returned ${status}${text === '' ? '' : `: ${quote(answer)}`}`;
  const retryAfter = retryAfterOf(answer);
  if (status === 429 || (status === 503 && retryAfter.retryAfterMs !== undefined)) {
    return failure({ code: 'provider_throttled', message, class: 'throttled', ...retryAfter });
  }
  if (status >= 500 || status === 408 || status === 425) {
    return failure({ code: 'provider_failed', message, class: 'transient', ...retryAfter });
  }
  if (status === 401 || status === 403) {
    return failure({ code: 'provider_unauthorized', message, class: 'permanent' });
  }
  if (status < 200 || status >= 300)
    return failure({ code: 'provider_refused', message, class: 'permanent' });
  if (answer.isTooDeep) {
    return unusable(
      'result_too_deep',
      `The response of ${host} is nested deeper than ${maxJsonDepth} levels`,
    );
  }
  return answer.value === undefined ? garbage(answer, 'is not JSON') : null;
}

/** A truncated response, or an error page of a proxy: the next attempt may well succeed. */
function garbage(answer: ProviderAnswer, what: string): ItemError {
  const { host, status } = answer;
  const message = `The response of ${host} (status ${status}) ${what}: ${quote(answer)}`;
  return failure({ code: 'provider_garbage', message, class: 'transient' });
}

function notFound(host: string): ItemOutcome {
  return { status: 'NOT_FOUND', reason: `${host} has nothing for this item` };
}

function toResult(value: unknown, { response }: HttpOptions): ItemOutcome {
  const mapped =
    typeof response.result === 'string'
      ? (readPath(value, response.result) ?? null)
      : Object.fromEntries(
          Object.entries(response.result).map(([name, path]) => [name, readPath(value, path) ?? null]),
        );
  // First roughly: a result of megabytes is not walked and written to its end.
  const result = isJsonLonger(mapped, maxResultBytes) ? undefined : toStorable(mapped);
  if (result === undefined || Buffer.byteLength(JSON.stringify(result)) > maxResultBytes) {
    const advice = 'select less of the response with response.result';
    const message = `The result has more than ${maxResultBytes} bytes, the most allowed; ${advice}`;
    return unusable('result_too_large', message);
  }
  return { status: 'DONE', result };
}

function unusable(code: string, message: string): ItemError {
  return failure({ code, message, class: 'permanent' });
}

function holds({ status, path, equals, isEmpty }: HttpCondition, answer: ProviderAnswer): boolean {
  if (status !== undefined && ![status].flat().includes(answer.status)) return false;
  if (path === undefined) return true;
  // A body that could not be read says nothing about what is in it.
  if (answer.value === undefined) return false;
  const found = readPath(answer.value, path);
  return isEmpty === undefined ? found === equals : isNothing(found) === isEmpty;
}

function isNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function retryAfterOf({ headers }: ProviderAnswer): { retryAfterMs?: number } {
  const delayMs = parseRetryAfter(headers['retry-after'], headers.date);
  return delayMs === undefined ? {} : { retryAfterMs: Math.min(delayMs, maxRetryAfterMs) };
}

/** Scrubbed before it is shortened: a part of a key must not be shown either. */
function quote({ text: whole, scrub }: Pick<ProviderAnswer, 'text' | 'scrub'>): string {
  const text = scrub(whole.slice(0, maxScrubbed));
  const line = text
    .slice(0, maxQuoteLength)
    .replace(/[\s\p{C}]+/gu, ' ')
    .trim();
  return text.length > maxQuoteLength ? `${line}…` : line;
}
