import type {
  AdditiveFigures,
  FieldColumn,
  LineContext,
  MappedColumns,
  MetricEntity,
  ReportField,
} from '../types.ts';
import { currencyOf } from '../values/currencies.ts';
import {
  contradictsMark,
  type DecimalMark,
  isNullMark,
  type NumberFault,
  type NumberStyle,
  readCount,
  readDecimal,
  shiftDecimal,
} from '../values/numbers.ts';
import { cellReader, type LineNotes } from './cells.ts';
import { marksDisagree, problemOf } from './problems.ts';

type FigureOf = (cells: readonly string[], notes: LineNotes) => string | null;

/** Reads the figures of a row. A figure that cannot be read is null and noted as a problem. */
export function figureReader({ fields, format, currency }: MappedColumns, { conventions }: LineContext) {
  const style: NumberStyle = { decimalMark: conventions.decimalMark, exponents: format === 'json' };
  const shownMark = shownMarkOf(conventions);
  const figure = (field: ReportField, read: Read): FigureOf =>
    numberReader({ field, columns: fields[field], read, style, shownMark });
  const impressions = figure('impressions', readCount);
  const clicks = figure('clicks', readCount);
  const linkClicks = figure('link_clicks', readCount);
  const reach = figure('reach', readCount);
  const spend = figure('spend', readDecimal);
  const conversions = figure('conversions', readDecimal);
  const conversionValue = figure('conversion_value', readDecimal);
  const currencyIn = currencyReader(fields.currency, currency);

  return (
    cells: readonly string[],
    { metricDate, dateTo, notes }: Pick<MetricEntity, 'metricDate' | 'dateTo'> & { notes: LineNotes },
  ): MetricEntity => ({
    metricDate,
    dateTo,
    impressions: impressions(cells, notes),
    clicks: clicks(cells, notes),
    linkClicks: linkClicks(cells, notes),
    reach: reach(cells, notes),
    spend: spend(cells, notes),
    conversions: conversions(cells, notes),
    conversionValue: conversionValue(cells, notes),
    currency: currencyIn(cells, notes),
  });
}

/** The figures of a line that can be added to those of other lines. */
export function additiveOf(metric: MetricEntity): AdditiveFigures {
  return {
    impressions: metric.impressions,
    clicks: metric.clicks,
    link_clicks: metric.linkClicks,
    spend: metric.spend,
    conversions: metric.conversions,
    conversion_value: metric.conversionValue,
  };
}

/** The decimal mark that the file has shown, or null: then nothing can contradict it. */
function shownMarkOf({ decimalMark, unproven, contestedMark }: LineContext['conventions']) {
  return unproven?.includes('decimalMark') ? null : (decimalMark ?? contestedMark ?? null);
}

type Read = (text: string, style: NumberStyle) => string | null | NumberFault;

interface NumberTask {
  field: ReportField;
  columns: FieldColumn[] | undefined;
  read: Read;
  style: NumberStyle;
  shownMark: DecimalMark | null;
}

function numberReader({ field, columns, read, style, shownMark }: NumberTask): FigureOf {
  if (columns === undefined) return () => null;
  const readCell = (column: FieldColumn): FigureOf => {
    const { index, unit } = column;
    return (cells, notes) => {
      const cell = cells[index];
      if (cell === undefined || cell === '') return null;
      const number = read(cell, style);
      if (number === null) return null;
      if (typeof number !== 'string') {
        noteFault({ field, column, fault: number, value: cell, notes });
        return null;
      }
      if (unit === 'micros') return shiftDecimal(number, -6);
      if (shownMark !== null && contradictsMark(cell, shownMark))
        notes.warnings.push(marksDisagree({ column, notes, cell, number, shownMark, style }));
      return number;
    };
  };
  const [first, ...others] = columns.map(readCell);
  if (first === undefined || others.length === 0) return first ?? (() => null);
  const all = [first, ...others];
  return (cells, notes) => {
    for (const one of all) {
      const before = notes.problems.length;
      const number = one(cells, notes);
      // A value of a lower-ranked column must not hide a damaged one.
      if (number !== null || notes.problems.length > before) return number;
    }
    return null;
  };
}

interface FaultTask {
  field: ReportField;
  column: FieldColumn;
  fault: NumberFault;
  value: string;
  notes: LineNotes;
}

function noteFault({ field, column, fault, value, notes }: FaultTask): void {
  const problem = problemOf({ field, columns: [column], fault, value });
  // "< 10" is all that the platform states, so the row is accepted.
  if (fault.code === 'only_a_bound') notes.warnings.push({ code: fault.code, message: problem.message });
  else notes.problems.push(problem);
}

/** The currency of the row, or else the one in the header of the amount. */
function currencyReader(columns: FieldColumn[] | undefined, fallback: string | null): FigureOf {
  if (columns === undefined) return () => fallback;
  const cellOf = cellReader(columns);
  let lastCell = '';
  let lastCurrency = fallback;
  return (cells, notes) => {
    const cell = cellOf(cells);
    if (cell === lastCell) return lastCurrency;
    const currency = isNullMark(cell) ? fallback : currencyOf(cell);
    if (currency === null && !isNullMark(cell)) {
      notes.problems.push(problemOf({ field: 'currency', columns, fault: unknownCurrency, value: cell }));
      return null;
    }
    lastCell = cell;
    lastCurrency = currency;
    return currency;
  };
}

const unknownCurrency = {
  code: 'invalid_currency',
  message:
    'This is not a currency. Write its ISO 4217 code, for example USD or EUR, or leave the cell empty.',
};
