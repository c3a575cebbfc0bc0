import { isJsonLonger } from '../../lib/json-length.ts';

/** What is written at once takes a few milliseconds. */
const pieceLength = 32 * 1024;

/**
 * JSON with sorted keys, in pieces: two spellings of the same content are the same request. The value is JSON, so
 * nothing in it is undefined.
 */
export function* canonicalJson(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null || !isJsonLonger(value, pieceLength)) {
    yield whole(value);
  } else if (Array.isArray(value)) {
    for (const [at, each] of value.entries()) {
      yield at === 0 ? '[' : ',';
      yield* canonicalJson(each);
    }
    yield ']';
  } else {
    let before = '{';
    for (const [name, each] of Object.entries(sorted(value))) {
      yield `${before}${JSON.stringify(name)}:`;
      yield* canonicalJson(each);
      before = ',';
    }
    yield '}';
  }
}

function whole(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    part === null || typeof part !== 'object' || Array.isArray(part) ? part : sorted(part),
  );
}

/** Entries and not assignment: a key named __proto__ must stay a key. */
function sorted(value: object): object {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
