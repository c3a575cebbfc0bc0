import { declaredConventions } from './lines/rejected-rows.ts';
import {
  amountFields,
  countFields,
  type Language,
  type MappedColumns,
  type RawRow,
  type ReportField,
  type ReportLayout,
} from './types.ts';
import { cellOrder, type DateOrder, orderEvidence } from './values/dates.ts';
import { type DecimalMark, decimalEvidence, hangsOnMark } from './values/numbers.ts';

/**
 * How a file writes what can be read in two ways. Kept with the file's checkpoint: what a row means must not depend on
 * where a batch begins. Plain JSON.
 */
export interface ReportConventions {
  /** Decides `1,234` and `1.234` in amounts. */
  decimalMark: DecimalMark | null;
  /** Decides `03/04/2026`. */
  dateOrder: DateOrder | null;
  /**
   * What no cell has proven so far. The value above is a guess then that no cell was read by yet: the first cell that
   * hangs on it has the rest of the file looked through. None when it is not given.
   */
  unproven?: Convention[];
  /** The mark that was shown first, where the beginning of the file shows both and nothing is decided. */
  contestedMark?: DecimalMark;
}

export type Convention = 'decimalMark' | 'dateOrder';

/** Nothing else in the file proves anything: the guesses stand. */
export function assumeProven(conventions: ReportConventions): ReportConventions {
  return { ...conventions, unproven: [] };
}

/** So many rows from the file's beginning are looked at, however large the first batch is. */
export const sampleRows = 200;

export interface ConventionEvidence {
  layout: ReportLayout;
  /** Rows from the beginning of the file; of more than `sampleRows`, the others do not count. */
  sample: readonly RawRow[];
}

/**
 * Evidence in this order: what a file of ours says about itself; cells of the sample that can be read in one way only
 * (when they contradict each other, nothing is decided); for dates then the title lines; then what the language of the
 * headers does; for numbers at last the semicolon, which spreadsheets write where the comma is the decimal mark. JSON
 * has the decimal point always. What only titles, language or semicolon say is unproven.
 */
export function decideConventions(
  columns: MappedColumns,
  { layout, sample }: ConventionEvidence,
): ReportConventions {
  const rows = sample.filter(({ rowIndex }) => rowIndex < sampleRows);
  const mark = decideMark({ columns, layout, rows });
  const order = decideDateOrder({ columns, layout, rows });
  return { ...mark, ...order, unproven: [...(mark.unproven ?? []), ...(order.unproven ?? [])] };
}

export interface Weighed {
  conventions: ReportConventions;
  /** What cells of these rows hang on although nothing has proven it yet. */
  hanging: Convention[];
}

/**
 * Goes on where the sample proved nothing: the first cell of the file that can be read in one way only decides. Rows
 * must come in the order of the file. Costs nothing once all is proven.
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

/** The first mark that is proven, `either` when cells hang on it, null when there is nothing to decide. */
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

/** Also the forms that become a point or a comma once a number is tidied. */
const anyMark = /[.,\u2024\ufe50\ufe52\uff0c\uff0e]/;

function weighDates(sampled: Sampled): DateOrder | 'either' | null {
  let hangs = false;
  let last = '';
  for (const cell of datesIn(sampled)) {
    // Rows of one day mostly follow each other.
    if (cell === last) continue;
    last = cell;
    const order = cellOrder(cell);
    if (order === 'either') hangs = true;
    else if (order !== null) return order;
  }
  return hangs ? 'either' : null;
}

/** By rows, because the first proof counts. */
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

/** Figures in millionths are written by programs and prove nothing. */
function placesOf({ fields }: MappedColumns, wanted: readonly ReportField[]): number[] {
  const columns = wanted.flatMap((field) => fields[field] ?? []);
  return columns.filter(({ unit }) => unit === 'plain').map(({ index }) => index);
}

function onlyOf<T>(found: Set<T>): T | null {
  const [only = null] = found;
  return found.size === 1 ? only : null;
}
