import type {
  FieldProblem,
  LineContext,
  MappedColumns,
  ParsedLine,
  PlatformDefinition,
  RawRow,
  ReportField,
} from '../types.ts';
import { dateReader } from '../values/dates.ts';
import { isNullName } from '../values/numbers.ts';
import { cellReader, type LineNotes } from './cells.ts';
import { entityReader } from './entities.ts';
import { figureReader } from './figures.ts';
import { doublesCheck, isOverlong, nulCheck, problemOf, sourceOf } from './problems.ts';
import { unguarding } from './rejected-rows.ts';
import { firstFilled, isTotalLabel } from './totals.ts';

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
  const readDay = dayReader(columns, context);
  const readEntities = entityReader(columns);
  const readFigures = figureReader(columns, context);
  const isTotal = totalCheck({ definition, columns });
  const checkNul = nulCheck(columns);
  const checkDoubles = doublesCheck(columns);
  const unguarded = unguarding(columns.headers);
  const width = columns.headers.length;

  return (given) => {
    const { cells, rowIndex, line, problem } = unguarded(given);
    if (problem !== undefined) {
      return { kind: 'invalid', rowIndex, line, problems: [problem], source: sourceOf(columns, cells) };
    }
    const notes: LineNotes = { line, problems: [], warnings: [] };
    if (cells.length > width && isOverlong(cells, { width, problems: notes.problems })) {
      return { kind: 'invalid', rowIndex, line, problems: notes.problems, source: sourceOf(columns, cells) };
    }
    const metricDate = readDay(cells, notes.problems);
    const entities = readEntities(cells, notes);
    if ((metricDate === null || entities === null) && isTotal(cells))
      return { kind: 'total', rowIndex, line };
    const metric = readFigures(cells, { metricDate: metricDate ?? '', notes });
    checkNul(cells, notes.problems);
    if (notes.problems.length > 0 || entities === null) {
      return { kind: 'invalid', rowIndex, line, problems: notes.problems, source: sourceOf(columns, cells) };
    }
    checkDoubles?.(cells, notes.warnings);
    const { campaign, adSet, ad } = entities;
    return { kind: 'valid', rowIndex, line, campaign, adSet, ad, metric, warnings: notes.warnings };
  };
}

/** The day of a row: its day column, or else a period that begins and ends on the same day. */
function dayReader({ fields }: MappedColumns, { conventions }: LineContext) {
  const read = dateReader(conventions.dateOrder);
  const dayCell = cellReader(fields.metric_date);
  const startCell = cellReader(fields.period_start);
  const endCell = cellReader(fields.period_end);
  const readField = (field: ReportField, cell: string, problems: FieldProblem[]): string | null => {
    const day = read(cell);
    if (typeof day === 'string') return day;
    problems.push(problemOf({ field, columns: fields[field], fault: day, value: cell }));
    return null;
  };

  return (cells: readonly string[], problems: FieldProblem[]): string | null => {
    const day = dayCell(cells);
    if (!isNullName(day)) return readField('metric_date', day, problems);
    const [start, end] = [startCell(cells), endCell(cells)];
    if (isNullName(start) || isNullName(end)) {
      problems.push(
        problemOf({ field: 'metric_date', columns: fields.metric_date, fault: missingDay, value: day }),
      );
      return null;
    }
    const first = readField('period_start', start, problems);
    const last = readField('period_end', end, problems);
    if (first === null || first === last) return first;
    if (last !== null) {
      const fault = notDaily({ first, last });
      problems.push(
        problemOf({ field: 'metric_date', columns: undefined, fault, value: `${start} – ${end}` }),
      );
    }
    return null;
  };
}

const missingDay = {
  code: 'missing_date',
  message: 'The row has no day. Fill it in as YYYY-MM-DD, or export the report by day.',
};

const notDaily = ({ first, last }: { first: string; last: string }) => ({
  code: 'not_a_daily_row',
  message: `The row covers ${first} to ${last}, but only daily figures are stored. Export the report by day.`,
});

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
  return (cells) => {
    if (!hasNoId(cells)) return false;
    const day = dayCell(cells);
    const hasNoDay = isNullName(day);
    if (definition.blankNamesAreTotals && hasNoDay && hasNoName(cells)) return firstFilled(cells) !== null;
    return (hasNoDay || isTotalLabel(day)) && isTotalLabel(firstFilled(cells) ?? '');
  };
}
