import { jsonMembers } from './json-members.ts';

/** What lists show of a row, in place of the whole row. */
export interface InputSummary {
  title: string | null;
  brand: string | null;
  sku: string | null;
  /** The first columns with a value, only when the row has none of the three above. */
  first: { name: string; value: string }[];
}

const longestValue = 200;
const firstColumns = 3;
/** A hostile row of very many columns must not make a list slow. */
const mostColumns = 1_000;

/** The columns by which people know a row; the first of the names that has a value counts. */
const keys = { title: ['title', 'name'], brand: ['brand'], sku: ['sku'] } as const;

/** Takes the JSON text of a row, in which long numbers keep their digits, or its object. */
export function inputSummary(input: string | Readonly<Record<string, unknown>>): InputSummary {
  const values = new Map<string, string>();
  const first: InputSummary['first'] = [];
  for (const [name, value] of columnsOf(input)) {
    if (value === null) continue;
    const key = name.trim().toLowerCase();
    if (!values.has(key)) values.set(key, value);
    if (first.length < firstColumns) first.push({ name: shorten(name), value });
  }
  const find = (names: readonly string[]) => names.map((name) => values.get(name)).find(Boolean) ?? null;
  const named = { title: find(keys.title), brand: find(keys.brand), sku: find(keys.sku) };
  const hasNamed = Object.values(named).some((value) => value !== null);
  return { ...named, first: hasNamed ? [] : first };
}

function* columnsOf(input: string | Readonly<Record<string, unknown>>): Generator<[string, string | null]> {
  let count = 0;
  if (typeof input === 'string') {
    for (const { key, valueText } of jsonMembers(input)) {
      yield [key, textOf(valueText)];
      count += 1;
      if (count === mostColumns) return;
    }
    return;
  }
  for (const [key, value] of Object.entries(input).slice(0, mostColumns)) {
    yield [key, textOf(JSON.stringify(value) ?? 'null')];
  }
}

/** A string without its quotes, everything else as its JSON text; null for what shows nothing. */
function textOf(valueText: string): string | null {
  const value = valueText.startsWith('"') ? String(JSON.parse(valueText)) : valueText;
  return value.trim() === '' || valueText === 'null' ? null : shorten(value);
}

function shorten(text: string): string {
  if (text.length <= longestValue) return text;
  const cut = text.slice(0, longestValue - 1);
  // Not in the middle of a surrogate pair.
  return `${/[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}
