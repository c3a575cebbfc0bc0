import { canonicalText, type FieldName, meaningOf } from '../../../kernel/rows/normalized-fields.ts';
import { jsonMembers } from '../../../lib/rows/json-members.ts';

/** What lists show of a row instead of the whole row. */
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

/** Takes a row as JSON text, in which long numbers keep their digits. */
export function inputSummary(inputJson: string): InputSummary {
  const best = new Map<FieldName, { rank: number; value: string }>();
  const first: InputSummary['first'] = [];
  let columns = 0;
  for (const { key: name, valueText } of jsonMembers(inputJson)) {
    if (columns === mostColumns) break;
    columns += 1;
    const value = textOf(valueText);
    if (value === null) continue;
    const meaning = meaningOf(name);
    const known = meaning && best.get(meaning.field);
    if (meaning && !(known && known.rank <= meaning.rank)) {
      best.set(meaning.field, { rank: meaning.rank, value });
    }
    if (first.length < firstColumns) first.push({ name: shorten(name), value });
  }
  const find = (field: FieldName) => best.get(field)?.value ?? null;
  const named = { title: find('title'), brand: find('brand'), sku: find('sku') };
  const hasNamed = Object.values(named).some((value) => value !== null);
  return { ...named, first: hasNamed ? [] : first };
}

/** A string without its quotes, everything else as JSON text; null for an empty value. */
function textOf(valueText: string): string | null {
  const value = valueText.startsWith('"') ? canonicalText(String(JSON.parse(valueText))) : valueText;
  return value === '' || valueText === 'null' ? null : shorten(value);
}

function shorten(text: string): string {
  if (text.length <= longestValue) return text;
  const cut = text.slice(0, longestValue - 1);
  // Not in the middle of a surrogate pair.
  return `${/[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}
