import { headerKey } from '../header-names.ts';
import { copyOf, shortened } from '../shown-text.ts';
import type {
  FieldProblem,
  LineContext,
  MappedColumns,
  MetricEntity,
  ParsedLine,
  PlatformDefinition,
  RawRow,
  ReportField,
} from '../types.ts';
import { dateReader } from '../values/dates.ts';
import { isNullName } from '../values/numbers.ts';
import { cellReader, type LineNotes } from './cells.ts';
import { dimensionReader } from './dimensions.ts';
import { entityReader } from './entities.ts';
import { additiveOf, figureReader } from './figures.ts';
import { plausibilityReader } from './plausibility.ts';
import { doublesCheck, isOverlong, nulCheck, problemOf, sourceOf } from './problems.ts';
import { unguarding } from './rejected-rows.ts';
import { firstFilled, isAllWord, isTotalLabel } from './totals.ts';

export interface CompileTask {
  definition: PlatformDefinition;
  columns: MappedColumns;
  context: LineContext;
}

/**
 * Returns the function that turns rows into lines. It runs once per row of the file (316,000 in a 50 MB report), so
 * whatever depends only on the columns is decided here, and repeated values are read once.
 */
export function compileLines({ definition, columns, context }: CompileTask): (row: RawRow) => ParsedLine {
  const readRange = rangeReader(columns, context);
  const readEntities = entityReader(columns);
  const readFigures = figureReader(columns, context);
  const readDimensions = dimensionReader(columns, context);
  const checkPlausibility = plausibilityReader(columns, context);
  const isTotal = totalCheck({ definition, columns });
  const dayCell = cellReader(columns.fields.metric_date);
  const checkNul = nulCheck(columns);
  const checkDoubles = doublesCheck(columns);
  const unguarded = unguarding(columns.headers);
  const width = columns.headers.length;
  const refused = (row: RawRow, problems: FieldProblem[], metric: MetricEntity | null): ParsedLine => ({
    kind: 'invalid',
    rowIndex: row.rowIndex,
    line: row.line,
    problems,
    figures: metric === null ? null : additiveOf(metric),
    source: sourceOf(columns, row.cells),
  });

  return (given) => {
    const row = unguarded(given);
    const { cells, rowIndex, line, problem } = row;
    if (problem !== undefined) return refused(row, [problem], null);
    const notes: LineNotes = { line, problems: [], warnings: [] };
    if (cells.length > width && isOverlong(cells, { width, problems: notes.problems })) {
      return refused(row, notes.problems, null);
    }
    const range = readRange(cells, notes.problems);
    const entities = readEntities(cells, notes);
    if ((range === null || entities === null || context.range) && isTotal(cells)) {
      return totalOf(row, readFigures);
    }
    if (range === null && isAllWord(dayCell(cells))) return { kind: 'subtotal', rowIndex, line };
    const { metricDate, dateTo } = range ?? noRange;
    const metric = readFigures(cells, { metricDate, dateTo, notes });
    checkNul(cells, notes.problems);
    if (notes.problems.length > 0 || entities === null) return refused(row, notes.problems, metric);
    checkDoubles?.(cells, notes.warnings);
    checkPlausibility?.(row, metric, notes.warnings);
    const { campaign, adSet, ad } = entities;
    const dimensions = readDimensions === null ? null : readDimensions(cells);
    return {
      kind: 'valid',
      rowIndex,
      line,
      campaign,
      adSet,
      ad,
      metric,
      dimensions,
      warnings: notes.warnings,
    };
  };
}

const noRange = { metricDate: '', dateTo: null };

/** The sum that the platform itself states. What cannot be read of it is left out: it is only compared. */
function totalOf(
  { cells, rowIndex, line }: RawRow,
  readFigures: ReturnType<typeof figureReader>,
): ParsedLine {
  const notes: LineNotes = { line, problems: [], warnings: [] };
  const figures = additiveOf(readFigures(cells, { ...noRange, notes }));
  const label = copyOf(shortened(firstFilled(cells) ?? '', 80));
  return { kind: 'total', rowIndex, line, label, figures };
}

/**
 * The day of a row, from its day column; else the range of its columns, which may be a single day; else the range of
 * the whole file.
 */
function rangeReader({ fields }: MappedColumns, { conventions, range: whole }: LineContext) {
  const read = dateReader(conventions.dateOrder, conventions.serialDays);
  const dayCell = cellReader(fields.metric_date);
  const startCell = cellReader(fields.period_start);
  const endCell = cellReader(fields.period_end);
  const hasDays = fields.metric_date !== undefined;
  const ofFile = whole ? rangeOf(whole.from, whole.to) : null;
  const readField = (field: ReportField, cell: string, problems: FieldProblem[]): string | null => {
    const day = read(cell);
    if (typeof day === 'string') return day;
    problems.push(problemOf({ field, columns: fields[field], fault: day, value: cell }));
    return null;
  };

  return (cells: readonly string[], problems: FieldProblem[]): LineRange | null => {
    const day = dayCell(cells);
    if (!isNullName(day)) {
      const metricDate = readField('metric_date', day, problems);
      return metricDate === null ? null : { metricDate, dateTo: null };
    }
    const [start, end] = [startCell(cells), endCell(cells)];
    if (!isNullName(start) && !isNullName(end)) {
      const [first, last] = [
        readField('period_start', start, problems),
        readField('period_end', end, problems),
      ];
      if (first === null || last === null) return null;
      if (first <= last) return rangeOf(first, last);
      problems.push(
        problemOf({ field: 'period_end', columns: fields.period_end, fault: endsBefore, value: end }),
      );
      return null;
    }
    if (!hasDays && ofFile !== null) return ofFile;
    problems.push(
      problemOf({ field: 'metric_date', columns: fields.metric_date, fault: missingDay, value: day }),
    );
    return null;
  };
}

type LineRange = Pick<MetricEntity, 'metricDate' | 'dateTo'>;

/** A range of one day is a day. */
function rangeOf(from: string, to: string): LineRange {
  return { metricDate: from, dateTo: from === to ? null : to };
}

const missingDay = {
  code: 'missing_date',
  message: 'The row has no day. Fill it in as YYYY-MM-DD, or export the report by day.',
};

const endsBefore = {
  code: 'range_reversed',
  message: 'The range of the row ends before it begins. Correct the two dates.',
};

/**
 * In a total, the first non-empty cell is a label, and there is neither a date nor an id. Some platforms write totals
 * without name, id and day instead. A campaign that is really called "Total: Sale" has a date or an id.
 */
function totalCheck(task: Omit<CompileTask, 'context'>): (cells: readonly string[]) => boolean {
  const {
    definition,
    columns: { fields },
  } = task;
  const isBlank = (names: ReportField[]) => {
    const readers = names.map((field) => cellReader(fields[field]));
    return (cells: readonly string[]) => readers.every((cellOf) => isNullName(cellOf(cells)));
  };
  const hasNoId = isBlank(['campaign_id', 'ad_set_id', 'ad_id']);
  const hasNoName = isBlank(['campaign_name', 'ad_set_name', 'ad_name']);
  const dayCell = cellReader(fields.metric_date);
  const own = new Set((definition.total_labels ?? []).map(headerKey));
  const isLabel = (cell: string) => isTotalLabel(cell) || (own.size > 0 && own.has(headerKey(cell)));
  return (cells) => {
    if (!hasNoId(cells)) return false;
    const day = dayCell(cells);
    const hasNoDay = isNullName(day);
    if (definition.blank_names_are_totals && hasNoDay && hasNoName(cells)) return firstFilled(cells) !== null;
    return (hasNoDay || isLabel(day)) && isLabel(firstFilled(cells) ?? '');
  };
}
