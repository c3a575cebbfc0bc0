import { jsonMembers } from '../../lib/rows/json-members.ts';
import { storable } from '../../lib/well-formed.ts';

/**
 * The well-known fields of a row under one name each, whatever the file calls them. Processors and lists need not know
 * every spelling. See docs/decisions/0009-normalized-fields.md.
 */
export type NormalizedFields = Record<string, string | number | boolean>;

/** Field → the column names that mean it, best first; the field's own name always comes first. */
const aliases = {
  title: ['name', 'product_title', 'product_name', 'item_name', 'item_title'],
  brand: ['brand_name', 'manufacturer', 'vendor'],
  sku: ['item_sku', 'product_sku', 'article_number', 'item_number', 'part_number', 'mpn'],
  price: ['sale_price', 'unit_price', 'item_price'],
  currency: ['currency_code', 'price_currency'],
  gtin: ['ean', 'ean13', 'ean_13', 'upc', 'barcode', 'gtin13', 'gtin_13', 'gtin14', 'gtin_14'],
  asin: [],
  url: ['link', 'product_url', 'product_link', 'page_url'],
  image: ['image_url', 'image_link', 'image_src', 'picture', 'picture_url', 'photo'],
  description: ['product_description', 'body'],
  category: ['product_category', 'product_type', 'category_name'],
  color: ['colour'],
  size: [],
  quantity: ['qty', 'stock', 'inventory'],
} as const satisfies Record<string, readonly string[]>;

export type FieldName = keyof typeof aliases;

interface Meaning {
  field: FieldName;
  /** 0 is the field's own name. */
  rank: number;
}

const meanings = new Map<string, Meaning>(
  Object.entries(aliases).flatMap(([field, others]) =>
    [field, ...others].map((name, rank): [string, Meaning] => [name, { field: field as FieldName, rank }]),
  ),
);

/** Longer names are not well-known columns, and must not cost anything. */
const longestName = 60;

/** `Product Name`, `productName` and `product-name` are one name. */
export function canonicalName(column: string): string {
  return column
    .normalize('NFKC')
    .trim()
    .replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1_$2')
    .toLowerCase()
    .replace(/[\s\-./]+/g, '_');
}

/** Null for a column that is not well-known. */
export function meaningOf(column: string): Meaning | null {
  return column.length > longestName ? null : (meanings.get(canonicalName(column)) ?? null);
}

/** Trimmed text in NFC, without what jsonb cannot hold. */
export function canonicalText(text: string): string {
  if (canonicalAscii.test(text)) return text;
  return storable(text).normalize('NFC').trim();
}

const canonicalAscii = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** The fields of one row, from its JSON text: a number that is too long for JavaScript comes as text. */
export function normalizedFields(inputJson: string): NormalizedFields {
  const fields: NormalizedFields = {};
  for (const [field, valueText] of new RowNormalizer().fieldsOf(inputJson)) {
    const value: unknown = JSON.parse(valueText);
    const isExact = typeof value !== 'number' || String(value) === valueText;
    fields[field] = isExact ? (value as string | number | boolean) : valueText;
  }
  return fields;
}

/** The fields as JSON text, exact, whether or not the row had them like this. */
export function normalizedJson(inputJson: string): string {
  const members = [...new RowNormalizer().fieldsOf(inputJson)];
  return `{${members.map(([field, valueText]) => `"${field}":${valueText}`).join(',')}}`;
}

/** Normalizes row after row. */
export interface RowNormalizing {
  /** JSON text to store beside the input; null when the input is canonical already. */
  normalize(inputJson: string): string | null;
}

/** Remembers what the columns mean. */
export class RowNormalizer implements RowNormalizing {
  readonly #meanings = new Map<string, Meaning | null>();
  /** Null: each row names its own columns. */
  readonly #plan: FieldPlan[] | null;
  /** No column has to be renamed: only their values may need a change. */
  readonly #namesAreCanonical: boolean;

  /** `columns`: the header of the file, or null when each row names its own. */
  constructor(columns: readonly string[] | null = null) {
    this.#plan = columns && planOf(columns);
    this.#namesAreCanonical =
      this.#plan?.every(({ field, columns: names }) => names.length === 1 && names[0] === field) ?? false;
  }

  /**
   * The JSON text of the row's fields; null when the row has none, or has all of them in canonical form under their own
   * names.
   */
  normalize(inputJson: string): string | null {
    if (this.#plan?.length === 0 || (this.#namesAreCanonical && isPlain(inputJson))) return null;
    const fast = this.#plan && normalizeTexts(inputJson, this.#plan);
    return fast ? fast.normalized : this.#normalizeAny(inputJson);
  }

  #normalizeAny(inputJson: string): string | null {
    const members: string[] = [];
    let isAsItCame = true;
    for (const [field, valueText, source] of this.fieldsOf(inputJson)) {
      members.push(`"${field}":${valueText}`);
      if (source.key !== field || source.valueText !== valueText) isAsItCame = false;
    }
    return isAsItCame ? null : `{${members.join(',')}}`;
  }

  /** Field, canonical JSON text of its value, and where it came from; the best name that has a value counts. */
  *fieldsOf(inputJson: string): Generator<[FieldName, string, { key: string; valueText: string }]> {
    const best = new Map<FieldName, { rank: number; text: string; key: string; valueText: string }>();
    for (const { key, valueText } of jsonMembers(inputJson)) {
      const meaning = this.#meaning(key);
      if (meaning === null) continue;
      const text = canonicalValue(valueText);
      const known = best.get(meaning.field);
      if (text === null || (known && known.rank <= meaning.rank)) continue;
      best.set(meaning.field, { rank: meaning.rank, text, key, valueText });
    }
    for (const [field, { text, key, valueText }] of best) yield [field, text, { key, valueText }];
  }

  #meaning(column: string): Meaning | null {
    const known = this.#meanings.get(column);
    if (known !== undefined) return known;
    const found = meaningOf(column);
    // Rows of JSON may have new names without end.
    if (this.#meanings.size < maxRemembered) this.#meanings.set(column, found);
    return found;
  }
}

interface FieldPlan {
  field: FieldName;
  /** Best first. */
  columns: string[];
}

function planOf(columns: readonly string[]): FieldPlan[] {
  const found = columns.flatMap((column) => {
    const meaning = meaningOf(column);
    return meaning ? [{ column, ...meaning }] : [];
  });
  const ranked = found.sort((one, other) => one.rank - other.rank);
  const fields = new Set(ranked.map(({ field }) => field));
  return [...fields].map((field) => ({
    field,
    columns: ranked.filter((column) => column.field === field).map(({ column }) => column),
  }));
}

/**
 * Cells of a file with a header are texts: no number can lose a digit, so the fast parser may read them. Null: there
 * is something else in the row.
 */
function normalizeTexts(inputJson: string, plan: readonly FieldPlan[]): { normalized: string | null } | null {
  const row = JSON.parse(inputJson) as Record<string, unknown>;
  const members: string[] = [];
  let isAsItCame = true;
  for (const { field, columns } of plan) {
    for (const column of columns) {
      const value = row[column];
      if (typeof value !== 'string') return null;
      const text = canonicalText(value);
      if (text === '') continue;
      members.push(`"${field}":${JSON.stringify(text)}`);
      if (column !== field || text !== value) isAsItCame = false;
      break;
    }
  }
  return { normalized: isAsItCame ? null : `{${members.join(',')}}` };
}

const maxRemembered = 10_000;
/** jsonb holds numbers of any length, but not of any exponent. */
const plainNumber = /^-?\d{1,400}(\.\d{1,400})?$/;

/** Null for an empty or nested value. */
function canonicalValue(valueText: string): string | null {
  if (valueText.startsWith('"')) {
    const text = canonicalText(String(JSON.parse(valueText)));
    return text === '' ? null : JSON.stringify(text);
  }
  if (valueText === 'true' || valueText === 'false') return valueText;
  if (/^-?\d/.test(valueText)) return plainNumber.test(valueText) ? valueText : JSON.stringify(valueText);
  return null;
}

/**
 * Nothing to trim or compose: ASCII, no space beside a quote, no escape, no empty value, no exponent. One test covers
 * nearly every clean row.
 */
function isPlain(inputJson: string): boolean {
  return !unplain.test(inputJson);
}

const unplain = /[^\x20-\x7e]|\\|"\s|\s"|:""|[\d.][eE][-+\d]/;
