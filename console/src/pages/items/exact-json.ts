/** What newer browsers have: the source text of a number while parsing, and a way to write it unchanged. */
interface ExactJson {
  rawJSON?: (text: string) => RawNumber;
  isRawJSON?: (value: unknown) => boolean;
}
interface RawNumber {
  readonly rawJSON: string;
}

const exact = JSON as unknown as ExactJson;

/**
 * JSON whose numbers are shown as they were written. Rows hold numbers of any length, and 12345678901234567890 must not
 * look like 12345678901234567000. Older browsers show the rounded number.
 */
export function parseExact(text: string): unknown {
  const revive = (_key: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source;
    const isChanged = typeof value === 'number' && source !== undefined && String(value) !== source;
    return isChanged && exact.rawJSON !== undefined ? exact.rawJSON(source) : value;
  };
  return JSON.parse(text, revive);
}

function isRawNumber(value: unknown): value is RawNumber {
  return exact.isRawJSON?.(value) ?? false;
}

/** A value in a cell: text unchanged, everything else as JSON. */
export function cellText(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  return isRawNumber(value) ? value.rawJSON : JSON.stringify(value);
}

/** A member of a row by any name, `__proto__` included. */
export function memberOf(holder: unknown, name: string): unknown {
  if (typeof holder !== 'object' || holder === null || isRawNumber(holder)) return undefined;
  return Object.hasOwn(holder, name) ? (holder as Record<string, unknown>)[name] : undefined;
}
