import { defineErrors, invalid } from './errors.ts';

/** Levels of objects and arrays in one JSON text, wherever it comes from. */
export const maxJsonDepth = 64;

export const jsonErrors = defineErrors({
  json_too_deep: invalid(
    'The JSON is nested too deeply',
    `Flatten it to ${maxJsonDepth} levels, or send deep parts as text.`,
    400,
  ),
  json_too_many_values: invalid(
    'The JSON has too many values',
    'Send it in several requests, or send large lists as a file.',
    400,
  ),
});

const quote = 34;
const openArray = 91;
const backslash = 92;
const closeArray = 93;
const openObject = 123;
const closeObject = 125;

/**
 * The offset of the bracket that opens a level too many, or -1. Looks only at brackets and strings, in one pass and
 * without recursion. It runs before JSON.parse, which takes seconds for a megabyte of brackets and whose result
 * overflows the stack of everything that walks it.
 */
export function findTooDeep(bytes: Uint8Array, maxDepth = maxJsonDepth): number {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const code = bytes[at];
    if (isInString) {
      if (code === backslash) at += 1;
      else if (code === quote) isInString = false;
    } else if (code === quote) isInString = true;
    else if (code === openArray || code === openObject) {
      depth += 1;
      if (depth > maxDepth) return at;
    } else if (code === closeArray || code === closeObject) depth -= 1;
  }
  return -1;
}

/** Throws `json_too_deep`. `what` begins the message: "The body". */
export function refuseDeepJson(json: string | Uint8Array, what: string): void {
  const offset = findTooDeep(typeof json === 'string' ? Buffer.from(json) : json);
  if (offset === -1) return;
  throw jsonErrors.raise.json_too_deep(
    `${what} is nested deeper than ${maxJsonDepth} levels, the most allowed: level ${maxJsonDepth + 1} opens at byte ` +
      `${offset}`,
    { details: { max_depth: maxJsonDepth, byte_offset: offset } },
  );
}

/**
 * JSON of somebody else's server: undefined when it is not JSON or nested too deeply, and the caller says so. For short
 * answers; what may have megabytes is read with `parseJsonInTurns`.
 */
export function parseForeignJson(json: string | Uint8Array): unknown {
  const bytes = typeof json === 'string' ? Buffer.from(json) : json;
  if (findTooDeep(bytes) !== -1) return undefined;
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
  } catch {
    return undefined;
  }
}
