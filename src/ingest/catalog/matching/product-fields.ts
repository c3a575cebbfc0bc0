import { meaningOf, normalizedFields } from '../../../kernel/rows/normalized-fields.ts';
import { catalogErrors } from '../errors.ts';
import { type FieldColumns, productFields, type Question } from '../types.ts';

const none: FieldColumns = { sku: null, brand: null, title: null, gtin: null };

/** Which of these columns are which fields: what was named, and otherwise what their names mean. */
export function fieldColumns(columns: readonly string[], named: Partial<FieldColumns>): FieldColumns {
  const fields = { ...none };
  for (const field of productFields) {
    const given = named[field] ?? null;
    if (given !== null && !columns.includes(given)) throw unknownColumn(given, columns);
    fields[field] = given ?? bestColumn(columns, field);
  }
  return fields;
}

/** Throws unless products could be found by what the file has. */
export function assertMatchable(fields: FieldColumns, columns: readonly string[]): void {
  if (fields.sku !== null || fields.title !== null) return;
  throw catalogErrors.raise.catalog_unusable(
    `The file has no column for the SKU and none for the title; its columns are ${listed(columns)}`,
  );
}

/** Reads the three texts that products and rows are compared by. */
export type QuestionReader = (row: Record<string, unknown>, rowJson: string) => Question;

/** Of a file with a header. */
export function readerOf(fields: Pick<FieldColumns, 'sku' | 'brand' | 'title'>): QuestionReader {
  return (row) => ({
    sku: textOf(row, fields.sku),
    brand: textOf(row, fields.brand),
    title: textOf(row, fields.title),
  });
}

/** Of rows that each name their own columns: what was named, and otherwise the well-known fields, to the last digit. */
export function looseReader(named: Partial<FieldColumns>): QuestionReader {
  return (row, rowJson) => {
    const known = normalizedFields(rowJson);
    const read = (field: 'sku' | 'brand' | 'title') =>
      named[field] ? textOf(row, named[field]) : textOf(known, field);
    return { sku: read('sku'), brand: read('brand'), title: read('title') };
  };
}

export function textOf(row: Readonly<Record<string, unknown>>, column: string | null): string | null {
  const value = column !== null && Object.hasOwn(row, column) ? row[column] : null;
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
