import { wellFormed } from '../../../lib/well-formed.ts';

/**
 * The value in a form that PostgreSQL can keep as JSON: it refuses NUL characters and halves of surrogate pairs, and
 * one such text would fail the whole batch of results. Both become U+FFFD.
 */
export function toStorable(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value);
  if (Array.isArray(value)) return value.map(toStorable);
  if (typeof value !== 'object' || value === null) return value;
  // fromEntries makes own properties, so a key `__proto__` stays a key.
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [storableText(key), toStorable(inner)]),
  );
}

function storableText(text: string): string {
  return suspicious.test(text) ? wellFormed(text).replaceAll('\0', '\ufffd') : text;
}

const suspicious = /[\0\ud800-\udfff]/;
