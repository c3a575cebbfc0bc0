import { shortened, withoutNul } from '../shown-text.ts';
import {
  type FieldColumn,
  type FieldProblem,
  type LineWarning,
  type MappedColumns,
  reportFields,
} from '../types.ts';
import type { DecimalMark, NumberStyle } from '../values/numbers.ts';
import type { LineNotes } from './cells.ts';

/** Dates, ids and figures: a cell of these fields cannot be read if it contains a NUL. */
const strictFields = reportFields.filter((field) => !/^period_|_(name|status|type)$/.test(field));

interface ProblemTask {
  field: string;
  columns: readonly FieldColumn[] | undefined;
  fault: { code: string; message: string };
  value: string;
}

/** Names the column as the file does: people look for that name and not for the field. */
export function problemOf({ field, columns, fault, value }: ProblemTask): FieldProblem {
  const header = columns?.[0]?.header.trim();
  const message = header === undefined ? fault.message : `Column "${shortened(header)}": ${fault.message}`;
  return { field, code: fault.code, message, value: value === '' ? null : shortened(value) };
}

/** More non-empty cells than columns: a delimiter in a value is not quoted, so nothing after it can be trusted. */
export function isOverlong(
  cells: readonly string[],
  { width, problems }: { width: number; problems: FieldProblem[] },
): boolean {
  const beyond = cells.slice(width).filter((cell) => cell.trim() !== '');
  if (beyond.length === 0) return false;
  problems.push({
    field: 'row',
    code: 'wrong_cell_count',
    message:
      `The row has ${cells.length} cells and the header ${width}. Put values that contain the delimiter or a line ` +
      'break in quotes, or export the file again.',
    value: shortened(beyond.join(' ')),
  });
  return true;
}

/** U+0000 comes from a damaged file and cannot be stored in any column. */
export function nulCheck({ headers, fields }: MappedColumns) {
  // So a row without problems has no NUL in them.
  const strict = new Set(strictFields.flatMap((field) => fields[field]?.map(({ index }) => index) ?? []));
  const all = [...headers.keys()];
  const lenient = all.filter((at) => !strict.has(at));
  return (cells: readonly string[], problems: FieldProblem[]): void => {
    for (const at of problems.length > 0 ? all : lenient) {
      const cell = cells[at] ?? '';
      if (!cell.includes('\0')) continue;
      const header = shortened(headers[at] ?? 'row');
      problems.push({
        field: header,
        code: 'nul_character',
        message: `Column "${header}" contains a NUL character, so the file is damaged here. Export it again.`,
        value: shortened(cell),
      });
    }
  };
}

/** Warns when columns with the same name disagree. Null when no name repeats, so that usual files pay nothing. */
export function doublesCheck({ fields, format }: MappedColumns) {
  // In JSON several members fill one field by design, and may differ.
  const doubled = format === 'json' ? [] : Object.values(fields).filter((columns) => columns.length > 1);
  if (doubled.length === 0) return null;
  return (cells: readonly string[], warnings: LineWarning[]): void => {
    for (const columns of doubled) {
      const values = new Set(
        columns.map(({ index }) => (cells[index] ?? '').trim()).filter((cell) => cell !== ''),
      );
      if (values.size < 2) continue;
      const header = shortened(columns[0]?.header ?? '');
      warnings.push({
        code: 'duplicate_columns_disagree',
        message: `The columns called "${header}" differ in this row; the first one is used.`,
      });
    }
  };
}

interface Disagreement {
  column: FieldColumn;
  notes: LineNotes;
  cell: string;
  /** The value that the cell was read as. */
  number: string;
  shownMark: DecimalMark;
  style: NumberStyle;
}

/** Warns of an unambiguous number in a file whose other numbers have the other decimal mark. */
export function marksDisagree(found: Disagreement): LineWarning {
  const { column, notes, cell, number, shownMark, style } = found;
  const [name, other, group] = shownMark === '.' ? ['point', 'comma', ','] : ['comma', 'point', '.'];
  const doubtful =
    style.decimalMark === null
      ? `numbers such as 1${group}234 are refused`
      : `1${group}234 is read as 1234 and 1${shownMark}234 as 1.234`;
  return {
    code: 'decimal_marks_disagree',
    message:
      `Column "${shortened(column.header.trim())}", line ${notes.line}: "${shortened(cell)}" can only be read as ` +
      `${number}, with a decimal ${other}, but other numbers in the file have a decimal ${name}, so ${doubtful}. ` +
      'Check these numbers; if they are wrong, write all of them the same way and upload the file again.',
  };
}

/** The row for people and for the file of rejected rows: each header once, with its cell. */
export function sourceOf({ headers }: MappedColumns, cells: readonly string[]): [string, string][] {
  const uses = new Map<string, number>();
  const names = Math.max(headers.length, cells.length);
  return Array.from({ length: names }, (_, at) => {
    const header = withoutNul(headers[at] ?? `(column ${at + 1})`);
    const use = (uses.get(header) ?? 0) + 1;
    uses.set(header, use);
    return [use === 1 ? header : `${header} (${use})`, withoutNul(cells[at] ?? '')];
  });
}
