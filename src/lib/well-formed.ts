/** Lone surrogates, which JSON and the database refuse, become U+FFFD. The length stays the same. */
export function wellFormed(text: string): string {
  // Every supported Node has it; the types of ES2023 do not.
  return (text as string & { toWellFormed(): string }).toWellFormed();
}

/** As PostgreSQL stores it: without NUL and without lone surrogates. */
export function storable(text: string): string {
  return wellFormed(text.includes('\0') ? text.replaceAll('\0', '') : text);
}

/**
 * The value in a form that PostgreSQL can keep as JSON: it refuses NUL characters and broken surrogate pairs, and one
 * such text would fail a whole batch. Both become U+FFFD.
 */
export function toStorable(value: unknown): unknown {
  if (typeof value === 'string') return replaceUnstorable(value);
  if (Array.isArray(value)) return value.map(toStorable);
  if (typeof value !== 'object' || value === null) return value;
  // fromEntries makes own properties, so a key `__proto__` stays a key.
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [replaceUnstorable(key), toStorable(inner)]),
  );
}

function replaceUnstorable(text: string): string {
  return unstorable.test(text) ? wellFormed(text).replaceAll('\0', '\ufffd') : text;
}

const unstorable = /[\0\ud800-\udfff]/;
