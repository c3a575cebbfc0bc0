/** The value of a cell in its canonical form, or why it is not of the type. */
export type TypedValue = { value: string | number | boolean } | { problem: string };

export const valueTypes = ['string', 'integer', 'number', 'boolean', 'date', 'email', 'url', 'uuid'] as const;
export type ValueType = (typeof valueTypes)[number];

/** Cells arrive as text from CSV and as they are from JSON; both may be the same number. */
export function readTyped(type: ValueType, cell: unknown): TypedValue {
  if (typeof cell === 'object') return { problem: `must be ${typeNames[type]}, not a list or an object` };
  if (typeof cell === 'boolean' && type !== 'boolean' && type !== 'string') {
    return { problem: `must be ${typeNames[type]}` };
  }
  const value = readers[type](String(cell).trim());
  return value === null ? { problem: `must be ${typeNames[type]}` } : { value };
}

const typeNames: Record<ValueType, string> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number such as 12.5',
  boolean: 'true or false (also yes, no, 1, 0)',
  date: 'a date such as 2024-02-29 or 2024-02-29T12:00:00Z',
  email: 'an e-mail address',
  url: 'an absolute http or https URL',
  uuid: 'a UUID',
};

const readers: Record<ValueType, (text: string) => string | number | boolean | null> = {
  string: (text) => text,
  integer: (text) => {
    const value = /^[+-]?\d{1,20}(\.0{1,20})?$/.test(text) ? Number(text) : Number.NaN;
    return Number.isSafeInteger(value) ? value + 0 : null;
  },
  number: (text) => {
    const isDecimal = text.length <= 400 && /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?$/i.test(text);
    const value = isDecimal ? Number(text) : Number.NaN;
    return Number.isFinite(value) ? value : null;
  },
  boolean: (text) => booleans.get(text.toLowerCase()) ?? null,
  date: readDate,
  email: readEmail,
  url: readUrl,
  uuid: (text) => {
    const isUuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text);
    return isUuid ? text.toLowerCase() : null;
  },
};

const booleans = new Map([
  ['true', true],
  ['yes', true],
  ['1', true],
  ['false', false],
  ['no', false],
  ['0', false],
]);

const dateShape =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:?\d{2})?)?$/;

/** A day stays a day; a time without a zone is taken as UTC. */
function readDate(text: string): string | null {
  const parts = dateShape.exec(text);
  if (parts === null) return null;
  const [, year, month, day, time, zone] = parts;
  const date = `${year}-${month}-${day}`;
  const midnight = new Date(`${date}T00:00:00Z`);
  // Date turns the 30th of February into March.
  if (Number.isNaN(midnight.getTime()) || midnight.toISOString().slice(0, 10) !== date) return null;
  if (time === undefined) return date;
  const at = new Date(`${date}T${time}${zone ?? 'Z'}`);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}

const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const emailShape = new RegExp(`^[^\\s@"<>(),:;\\\\[\\]]{1,64}@(?:${label}\\.){1,10}${label}$`, 'iu');

function readEmail(text: string): string | null {
  if (text.length > 254 || !emailShape.test(text)) return null;
  const at = text.lastIndexOf('@');
  const local = text.slice(0, at);
  if (local.startsWith('.') || local.endsWith('.') || local.includes('..')) return null;
  return `${local}@${text.slice(at + 1).toLowerCase()}`;
}

function readUrl(text: string): string | null {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return null;
  return new URL(text).href;
}
