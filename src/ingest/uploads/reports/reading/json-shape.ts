import type { SluiceError } from '../../../../lib/errors.ts';
import { wellFormed } from '../../../../lib/well-formed.ts';
import { reportErrors } from '../errors.ts';
import { membersOf } from './json-flatten.ts';
import { skipSpace } from './json-text.ts';
import type { JsonShape } from './types.ts';

/** Whether a text is JSON. A table may begin with a bracket too, like "[EU] Campaigns". */
export function looksLikeJson(text: string): boolean {
  return /^\s*(?:\{|\[\s*(?:[[{"\]]|null\s*,|$))/.test(text);
}

/** The members of a Google response. A record with a field `results` has other members. */
const googleKeys = new Set([
  'results',
  'fieldMask',
  'requestId',
  'summaryRow',
  'nextPageToken',
  'totalResultsCount',
  'queryResourceConsumption',
]);

/** Decides from the first object in the text which platform's response this is. */
export function detectShape(head: string, maxDepth: number): JsonShape {
  const start = skipSpace(head, 0);
  const isArray = head[start] === '[';
  const object = isArray ? skipSpace(head, start + 1) : start;
  // Records are up to three levels deep in a response; their own depth is checked when they are read.
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

/** Null when a key has an invalid escape: the head was not parsed yet, and the reader will report it. */
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

/** The first character of each member's value, including a last one that continues beyond the text. */
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

/** The error that a platform returned instead of a report, or null. */
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
    `The report is an error message from the platform: ${JSON.stringify(message)} (code ${code}).`,
    { details: { platform_code: code, platform_message: message } },
  );
}

function shorten(value: unknown): string {
  const text = value === undefined ? 'none' : typeof value === 'string' ? value : JSON.stringify(value);
  return wellFormed(text.slice(0, 300));
}
