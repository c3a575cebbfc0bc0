import type { PdfLine } from './lines.ts';

/** A part of a line with its place: columns of a table are apart. */
export interface PdfCell {
  text: string;
  from: number;
  to: number;
}

export interface PdfTable {
  rows: string[][];
  /** How many lines it takes. */
  length: number;
}

const fewestRows = 3;
const mostColumns = 30;
/** Longer texts side by side are columns of prose. */
const longestUsual = 40;

/** The table that begins with this line; null if there is none. */
export function tableAt(lines: readonly PdfLine[], from: number): PdfTable | null {
  let end = from;
  while (end < lines.length && isRow(lines, end)) end += 1;
  const run = lines.slice(from, end);
  if (run.filter(({ cells }) => cells.length > 1).length < fewestRows) return null;
  const columns = columnsOf(run);
  if (columns.length < 2 || columns.length > mostColumns) return null;
  const rows = run.map((line) => cellsIn(columns, line));
  const filled = rows.flat().filter((text) => text !== '');
  const usual = filled.reduce((sum, text) => sum + text.length, 0) / Math.max(1, filled.length);
  const isAligned = run.every(({ cells }) => cells.length < 2 || spread(columns, cells) === cells.length);
  return usual > longestUsual || !isAligned ? null : { rows, length: run.length };
}

/** Several cells, or one between two lines of several: a row with only its first column filled. */
function isRow(lines: readonly PdfLine[], at: number): boolean {
  const has = (index: number) => (lines[index]?.cells.length ?? 0) > 1;
  return has(at) || (has(at - 1) && has(at + 1) && (lines[at]?.text.length ?? 0) <= longestUsual);
}

/** Where cells of any line overlap, there is one column. */
function columnsOf(lines: readonly PdfLine[]): { from: number; to: number }[] {
  const spans = lines
    .filter(({ cells }) => cells.length > 1)
    .flatMap(({ cells }) => cells.map(({ from, to }) => ({ from, to })))
    .sort((one, other) => one.from - other.from);
  const columns: { from: number; to: number }[] = [];
  for (const span of spans) {
    const last = columns.at(-1);
    if (last !== undefined && span.from < last.to) last.to = Math.max(last.to, span.to);
    else columns.push({ ...span });
  }
  return columns;
}

function columnOf(columns: readonly { from: number; to: number }[], { from, to }: PdfCell): number {
  const middle = (from + to) / 2;
  const at = columns.findIndex((column) => middle >= column.from && middle <= column.to);
  return at >= 0
    ? at
    : Math.max(
        0,
        columns.findLastIndex((column) => column.from <= from),
      );
}

function spread(columns: readonly { from: number; to: number }[], cells: readonly PdfCell[]): number {
  return new Set(cells.map((cell) => columnOf(columns, cell))).size;
}

function cellsIn(columns: readonly { from: number; to: number }[], { cells }: PdfLine): string[] {
  const row = columns.map(() => '');
  for (const cell of cells) {
    const at = columnOf(columns, cell);
    row[at] = `${row[at] ?? ''} ${cell.text}`.trim();
  }
  return row;
}
