import { declaredConventions } from './lines/rejected-rows.ts';
import {
  amountFields,
  countFields,
  type Language,
  type MappedColumns,
  type PlatformDefinition,
  type RawRow,
  type ReportField,
  type ReportLayout,
} from './types.ts';
import { cellOrder, type DateOrder, orderEvidence, type SerialDays } from './values/dates.ts';
import { type DecimalMark, decimalEvidence, hangsOnMark } from './values/numbers.ts';

/**
 * How a file writes numbers and dates that can be read in two ways. Saved with the checkpoint, because the meaning of a
 * row must not depend on where a batch begins. Plain JSON.
 */
export interface ReportConventions {
  /** Decides `1,234` and `1.234` in amounts. */
  decimalMark: DecimalMark | null;
  /** Decides `03/04/2026`. */
  dateOrder: DateOrder | null;
  /**
   * What no cell has proven so far. The value above is then a guess that no cell was read with yet: the first cell that
   * depends on it makes the parser search the rest of the file. Absent means that everything is proven.
   */
  unproven?: Convention[];
  /** The mark that appears first, when the beginning of the file shows both and nothing is decided. */
  contestedMark?: DecimalMark;
  /** The file is a sheet, and a whole number in a column of days is one: counted from the beginning of this year. */
  serialDays?: SerialDays;
}

export type Convention = 'decimalMark' | 'dateOrder';

/** For when the whole file proves nothing: the guesses become final. */
export function assumeProven(conventions: ReportConventions): ReportConventions {
  return { ...conventions, unproven: [] };
}

/** How many rows from the beginning of the file are examined, however large the first batch is. */
export const sampleRows = 200;

export interface ConventionEvidence {
  layout: ReportLayout;
  /** Rows from the beginning of the file; only the first `sampleRows` count. */
  sample: readonly RawRow[];
  /** Of a sheet: what it counts days from. */
  serialDays?: SerialDays | null | undefined;
  /** What the platform's profile says. */
  profile?: Pick<PlatformDefinition, 'decimal_mark' | 'date_order'> | undefined;
}

/**
 * The evidence, in this order: what a file written by us declares; cells of the sample that can be read in one way only
 * (nothing is decided if they contradict each other); for dates, the title lines; the habit of the headers' language;
 * for numbers, the semicolon, which spreadsheets write where the comma is the decimal mark. JSON always has the decimal
 * point. What follows only from titles, language or semicolon is unproven.
 */
export function decideConventions(
  columns: MappedColumns,
  { layout, sample, serialDays, profile }: ConventionEvidence,
): ReportConventions {
  const rows = sample.filter(({ rowIndex }) => rowIndex < sampleRows);
  const { decimal_mark: ownMark, date_order: ownOrder } = profile ?? {};
  const mark = ownMark ? { decimalMark: ownMark } : decideMark({ columns, layout, rows });
  const order = ownOrder ? { dateOrder: ownOrder } : decideDateOrder({ columns, layout, rows });
  return {
    ...mark,
    ...order,
    unproven: [mark, order].flatMap((one) => ('unproven' in one ? (one.unproven ?? []) : [])),
    ...(serialDays ? { serialDays } : {}),
  };
}

export interface Weighed {
  conventions: ReportConventions;
  /** Unproven conventions that cells of these rows depend on. */
  hanging: Convention[];
}

/**
 * Decides what the sample did not prove: the first cell that can be read in one way only decides. Rows must come in the
 * order of the file. Costs nothing once everything is proven.
 */
export function weighRows(
  conventions: ReportConventions,
  { columns, rows }: { columns: MappedColumns; rows: readonly RawRow[] },
): Weighed {
  const { unproven = [] } = conventions;
  const proven: Partial<ReportConventions> = {};
  const hanging: Convention[] = [];
  if (unproven.includes('decimalMark')) {
    const found = weighNumbers({ columns, rows });
    if (found === 'either') hanging.push('decimalMark');
    else if (found !== null) proven.decimalMark = found;
  }
  if (unproven.includes('dateOrder')) {
    const found = weighDates({ columns, rows });
    if (found === 'either') hanging.push('dateOrder');
    else if (found !== null) proven.dateOrder = found;
  }
  const open = unproven.filter((convention) => proven[convention] === undefined);
  if (open.length === unproven.length) return { conventions, hanging };
  return { conventions: { ...conventions, ...proven, unproven: open }, hanging };
}

const dates: ReportField[] = ['metric_date', 'period_start', 'period_end'];

/**
 * How a language writes what can be read in two ways; null where it has both. Spanish has the comma in Spain and the
 * point in Mexico. English has both orders of dates; Japanese and Chinese begin with the year.
 */
const habits: Record<Language, { decimalMark: DecimalMark | null; dateOrder: DateOrder | null }> = {
  en: { decimalMark: '.', dateOrder: null },
  ja: { decimalMark: '.', dateOrder: null },
  zh: { decimalMark: '.', dateOrder: null },
  de: { decimalMark: ',', dateOrder: 'dmy' },
  fr: { decimalMark: ',', dateOrder: 'dmy' },
  pt: { decimalMark: ',', dateOrder: 'dmy' },
  it: { decimalMark: ',', dateOrder: 'dmy' },
  nl: { decimalMark: ',', dateOrder: 'dmy' },
  pl: { decimalMark: ',', dateOrder: 'dmy' },
  tr: { decimalMark: ',', dateOrder: 'dmy' },
  es: { decimalMark: null, dateOrder: 'dmy' },
  ko: { decimalMark: '.', dateOrder: null },
  vi: { decimalMark: ',', dateOrder: 'dmy' },
  ru: { decimalMark: ',', dateOrder: 'dmy' },
  id: { decimalMark: ',', dateOrder: 'dmy' },
  // Arabic countries write both, by region.
  ar: { decimalMark: null, dateOrder: 'dmy' },
};

interface Sampled {
  columns: MappedColumns;
  rows: readonly RawRow[];
}

type DecidedMark = Pick<ReportConventions, 'decimalMark' | 'contestedMark' | 'unproven'>;
type DecidedOrder = Pick<ReportConventions, 'dateOrder' | 'unproven'>;

function decideMark({ columns, layout, rows }: Sampled & { layout: ReportLayout }): DecidedMark {
  const { decimalMark: declared } = declaredConventions(columns.headers);
  if (columns.format === 'json' || declared !== null) return { decimalMark: declared ?? '.' };
  const proven = new Set<DecimalMark>();
  for (const { cells } of rows) {
    for (const { index, isCount } of numberPlaces(columns)) {
      const mark = decimalEvidence(cells[index] ?? '', { isCount });
      if (mark !== null) proven.add(mark);
    }
  }
  const [first] = proven;
  if (first !== undefined)
    return proven.size === 1 ? { decimalMark: first } : { decimalMark: null, contestedMark: first };
  const spoken = onlyOf(new Set(columns.languages.map((language) => habits[language].decimalMark)));
  const isSemicolon = layout.format === 'delimited' && layout.delimiter === ';';
  return { decimalMark: spoken ?? (isSemicolon ? ',' : null), unproven: ['decimalMark'] };
}

function decideDateOrder({ columns, layout, rows }: Sampled & { layout: ReportLayout }): DecidedOrder {
  const { dateOrder: declared } = declaredConventions(columns.headers);
  if (declared !== null) return { dateOrder: declared };
  const proven = new Set<DateOrder>();
  for (const cell of datesIn({ columns, rows })) {
    const order = cellOrder(cell);
    if (order !== null && order !== 'either') proven.add(order);
  }
  if (proven.size > 0) return { dateOrder: onlyOf(proven) };
  const titles = layout.format === 'delimited' ? orderEvidence(layout.titleLines.join('\n')) : null;
  const spoken = onlyOf(new Set(columns.languages.map((language) => habits[language].dateOrder)));
  return { dateOrder: titles ?? spoken, unproven: ['dateOrder'] };
}

/** Returns the first proven mark, `either` when cells depend on it, or null when nothing has to be decided. */
function weighNumbers({ columns, rows }: Sampled): DecimalMark | 'either' | null {
  const places = numberPlaces(columns);
  let hangs = false;
  for (const { cells } of rows) {
    for (const { index, isCount } of places) {
      const cell = cells[index] ?? '';
      if (!anyMark.test(cell)) continue;
      const isEither = !isCount && hangsOnMark(cell);
      const mark = isEither ? null : decimalEvidence(cell, { isCount });
      if (mark !== null) return mark;
      hangs ||= isEither;
    }
  }
  return hangs ? 'either' : null;
}

/** Includes the Unicode forms that are normalized to a point or a comma. */
const anyMark = /[.,\u2024\ufe50\ufe52\uff0c\uff0e]/;

function weighDates(sampled: Sampled): DateOrder | 'either' | null {
  let hangs = false;
  let last = '';
  for (const cell of datesIn(sampled)) {
    // Rows of one day usually follow each other.
    if (cell === last) continue;
    last = cell;
    const order = cellOrder(cell);
    if (order === 'either') hangs = true;
    else if (order !== null) return order;
  }
  return hangs ? 'either' : null;
}

/** Row by row, because the first proof counts. */
function* datesIn({ columns, rows }: Sampled): Generator<string> {
  const places = placesOf(columns, dates);
  for (const { cells } of rows) {
    for (const index of places) yield cells[index] ?? '';
  }
}

function numberPlaces(columns: MappedColumns): { index: number; isCount: boolean }[] {
  return [
    ...placesOf(columns, countFields).map((index) => ({ index, isCount: true })),
    ...placesOf(columns, amountFields).map((index) => ({ index, isCount: false })),
  ];
}

/** Figures in millionths are written by programs and prove nothing about the notation. */
function placesOf({ fields }: MappedColumns, wanted: readonly ReportField[]): number[] {
  const columns = wanted.flatMap((field) => fields[field] ?? []);
  return columns.filter(({ unit }) => unit === 'plain').map(({ index }) => index);
}

function onlyOf<T>(found: Set<T>): T | null {
  const [only = null] = found;
  return found.size === 1 ? only : null;
}
