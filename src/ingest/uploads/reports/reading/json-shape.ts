import type { SluiceError } from '../../../../lib/errors.ts';
import { wellFormed } from '../../../../lib/well-formed.ts';
import { reportErrors } from '../errors.ts';
import { membersOf } from './json-flatten.ts';
import { skipSpace } from './json-text.ts';
import type { JsonShape } from './types.ts';

/** Whether a text is JSON and not a table whose first cell begins with a bracket, like "[EU] Campaigns". */
export function looksLikeJson(text: string): boolean {
  return /^\s*(?:\{|\[\s*(?:[[{"\]]|null\s*,|$))/.test(text);
}

/** What else stands beside the results in an answer of Google; a record with a field `results` has other company. */
const googleKeys = new Set([
  'results',
  'fieldMask',
  'requestId',
  'summaryRow',
  'nextPageToken',
  'totalResultsCount',
  'queryResourceConsumption',
]);

/** Decides by the first object of the text, as far as it is there, which answer of which platform this is. */
export function detectShape(head: string, maxDepth: number): JsonShape {
  const start = skipSpace(head, 0);
  const isArray = head[start] === '[';
  const object = isArray ? skipSpace(head, start + 1) : start;
  // Records lie up to three levels deep in an answer; their own depth is judged when they are read.
  const records = isArray ? 'array' : 'ndjson';
  return head[object] === '{' ? (findEnvelope(head, { object, maxDepth: maxDepth + 3 }) ?? records) : records;
}

function findEnvelope(
  head: string,
  { object, maxDepth }: { object: number; maxDepth: number },
): JsonShape | null {
  const firsts = findFirsts(head, { object, maxDepth });
  if (firsts === null) return null;
  const keys = [...firsts.keys()];
  if (firsts.get('results') === '[' && keys.every((key) => googleKeys.has(key))) return 'google';
  const first = firsts.get('data');
  if (first === '[') return 'meta';
  if (first === '{' || keys.slice(0, 2).join() === 'code,message') return 'tiktok';
  return keys[0] === 'error' && firsts.get('error') === '{' ? 'meta' : null;
}

/** Null when a key has an escape that JSON does not know: the head was not parsed yet, and the reader will say so. */
function findFirsts(
  head: string,
  place: { object: number; maxDepth: number },
): ReadonlyMap<string, string> | null {
  try {
    return firstsOfMembers(head, place);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** The first character of each member's value, also of a last one that goes on beyond the text. */
function firstsOfMembers(
  head: string,
  { object, maxDepth }: { object: number; maxDepth: number },
): Map<string, string> {
  const firsts = new Map<string, string>();
  let end = object + 1;
  for (const { key, from, to } of membersOf(head, object, maxDepth)) {
    firsts.set(key, head.charAt(from));
    end = to;
  }
  const unfinished = /^\s*,?\s*"([^"\\]*)"\s*:\s*(\S)/.exec(head.slice(end, end + 1_000));
  if (unfinished !== null) firsts.set(unfinished[1] ?? '', unfinished[2] ?? '');
  return firsts;
}

/** What a platform answers instead of a report, once the members around the records are known. */
export function findPlatformError(
  members: ReadonlyMap<string, unknown>,
  shape: JsonShape,
): SluiceError | null {
  const error = members.get('error');
  if (typeof error === 'object' && error !== null) return platformError(new Map(Object.entries(error)));
  const code = members.get('code');
  const isFailure = shape === 'tiktok' && code !== undefined && String(code) !== '0';
  return isFailure ? platformError(members) : null;
}

function platformError(members: ReadonlyMap<string, unknown>): SluiceError {
  const [code, message] = [members.get('code'), members.get('message')].map(shorten);
  return reportErrors.raise.report_platform_error(
    `The report is an error message of the platform: ${JSON.stringify(message)} (code ${code}).`,
    { details: { platform_code: code, platform_message: message } },
  );
}

function shorten(value: unknown): string {
  const text = value === undefined ? 'none' : typeof value === 'string' ? value : JSON.stringify(value);
  return wellFormed(text.slice(0, 300));
}
