import { type DateOrder, orderEvidence } from './dates.ts';
import { type DecimalMark, decimalEvidence } from './numbers.ts';
import type { Language, MappedColumns } from './profile-types.ts';
import type { RawRow, ReportField, ReportLayout } from './types.ts';

/**
 * How a file writes what can be read in two ways. Decided once, at the beginning of the file, and kept with its
 * checkpoint: what a row means must not depend on where a batch begins. Plain JSON.
 */
export interface ReportConventions {
  /** Decides `1,234` and `1.234` in amounts. */
  decimalMark: DecimalMark | null;
  /** Decides `03/04/2026`. */
  dateOrder: DateOrder | null;
}

/** So many rows from the file's beginning are looked at, however large the first batch is. */
export const sampleRows = 200;

export interface ConventionEvidence {
  layout: ReportLayout;
  /** Rows from the beginning of the file; of more than `sampleRows`, the others do not count. */
  sample: readonly RawRow[];
}

/**
 * Evidence in this order: cells of the sample that can be read in one way only (when they contradict each other,
 * nothing is decided); for dates then the title lines; then what the language of the headers does; for numbers at last
 * the semicolon, which spreadsheets write where the comma is the decimal mark. JSON has the decimal point always.
 */
export function decideConventions(
  columns: MappedColumns,
  { layout, sample }: ConventionEvidence,
): ReportConventions {
  const rows = sample.filter(({ rowIndex }) => rowIndex < sampleRows);
  const dateOrder = decideDateOrder({ columns, layout, rows });
  if (columns.format === 'json') return { decimalMark: '.', dateOrder };
  const proven = new Set<DecimalMark>();
  for (const field of [...counts, ...amounts]) {
    const isCount = counts.includes(field);
    for (const cell of cellsOf({ columns, field, rows })) {
      const mark = decimalEvidence(cell, { isCount });
      if (mark !== null) proven.add(mark);
    }
  }
  if (proven.size > 0) return { decimalMark: onlyOf(proven), dateOrder };
  const spoken = onlyOf(new Set(columns.languages.map((language) => decimalMarks[language])));
  const isSemicolon = layout.format === 'delimited' && layout.delimiter === ';';
  return { decimalMark: spoken ?? (isSemicolon ? ',' : null), dateOrder };
}

const counts: ReportField[] = ['impressions', 'clicks', 'reach'];
const amounts: ReportField[] = ['spend', 'conversions', 'conversion_value'];
const dates: ReportField[] = ['metric_date', 'period_start', 'period_end'];

// Spanish has the comma in Spain and the point in Mexico, so it decides nothing.
const decimalMarks: Record<Language, DecimalMark | null> = {
  en: '.',
  ja: '.',
  zh: '.',
  de: ',',
  fr: ',',
  pt: ',',
  it: ',',
  nl: ',',
  pl: ',',
  tr: ',',
  es: null,
};

// English has both orders; Japanese and Chinese begin with the year.
const dateOrders: Record<Language, DateOrder | null> = {
  en: null,
  ja: null,
  zh: null,
  de: 'dmy',
  fr: 'dmy',
  pt: 'dmy',
  it: 'dmy',
  nl: 'dmy',
  pl: 'dmy',
  tr: 'dmy',
  es: 'dmy',
};

interface Sampled {
  columns: MappedColumns;
  rows: readonly RawRow[];
}

function decideDateOrder({ columns, layout, rows }: Sampled & { layout: ReportLayout }): DateOrder | null {
  const proven = new Set<DateOrder>();
  for (const field of dates) {
    for (const cell of cellsOf({ columns, field, rows })) {
      const order = cell.charCodeAt(4) === 45 ? null : orderEvidence(cell);
      // A month in words says nothing about the order of numbers in other cells.
      if (order !== null && /^\d{1,2}[/-]/.test(cell.trim())) proven.add(order);
    }
  }
  if (proven.size > 0) return onlyOf(proven);
  const titles = layout.format === 'delimited' ? orderEvidence(layout.titleLines.join('\n')) : null;
  return titles ?? onlyOf(new Set(columns.languages.map((language) => dateOrders[language])));
}

function* cellsOf({ columns, field, rows }: Sampled & { field: ReportField }): Generator<string> {
  for (const column of columns.fields[field] ?? []) {
    if (column.unit !== 'plain') continue;
    for (const { cells } of rows) yield cells[column.index] ?? '';
  }
}

function onlyOf<T>(found: Set<T>): T | null {
  const [only = null] = found;
  return found.size === 1 ? only : null;
}
