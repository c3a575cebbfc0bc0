import { meaningOf } from '../../../kernel/rows/normalized-fields.ts';
import { catalogErrors } from '../errors.ts';
import { type FieldColumns, productFields, type Question } from '../types.ts';

const none: FieldColumns = { sku: null, brand: null, title: null, gtin: null };

/** Which column holds which field: the named one, or else the one whose name means the field. */
export function fieldColumns(columns: readonly string[], named: Partial<FieldColumns>): FieldColumns {
  const fields = { ...none };
  for (const field of productFields) {
    const given = named[field] ?? null;
    if (given !== null && !columns.includes(given)) throw unknownColumn(given, columns);
    fields[field] = given ?? bestColumn(columns, field);
  }
  return fields;
}

/** Throws unless the file has something to match by. */
export function assertMatchable(fields: FieldColumns, columns: readonly string[]): void {
  if (fields.sku !== null || fields.title !== null) return;
  throw catalogErrors.raise.catalog_unusable(
    `The file has no column for the SKU and none for the title; its columns are ${listed(columns)}`,
  );
}

type Row = Readonly<Record<string, unknown>>;

/**
 * The three texts that products and rows are compared by: from the columns that are named for them, and otherwise from
 * the well-known fields.
 */
export function readQuestion(row: Row, named: Partial<FieldColumns>, known: Row): Question {
  const read = (field: keyof Question) => (named[field] ? textOf(row, named[field]) : textOf(known, field));
  return { sku: read('sku'), brand: read('brand'), title: read('title') };
}

function textOf(row: Row, column: string): string | null {
  const value = Object.hasOwn(row, column) ? row[column] : null;
  if (typeof value === 'string') return value.trim() === '' ? null : value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
}

function bestColumn(columns: readonly string[], field: string): string | null {
  let best: { column: string; rank: number } | null = null;
  for (const column of columns) {
    const meaning = meaningOf(column);
    if (meaning?.field !== field || (best && best.rank <= meaning.rank)) continue;
    best = { column, rank: meaning.rank };
  }
  return best?.column ?? null;
}

function unknownColumn(column: string, columns: readonly string[]): Error {
  return catalogErrors.raise.catalog_unusable(
    `The file has no column ${JSON.stringify(column.slice(0, 200))}; its columns are ${listed(columns)}`,
    { fields: [{ pointer: '/fields', message: 'must name columns of the file' }] },
  );
}

function listed(columns: readonly string[]): string {
  const shown = columns.slice(0, 20).map((column) => JSON.stringify(column.slice(0, 80)));
  return `${shown.join(', ')}${columns.length > 20 ? ', …' : ''}`;
}
