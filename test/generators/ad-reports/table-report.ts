import type { Platform } from '../../../src/ingest/uploads/reports/types.ts';
import { encodeReport, type ReportEncoding } from './encodings.ts';
import { type FactOptions, type ReportFact, reportFacts } from './facts.ts';
import { assemble, type Expectation, type GeneratedReport, type ReportSize } from './generated-report.ts';

export interface TableColumn {
  header: string;
  cell: (fact: ReportFact) => string;
}

export interface TableShape extends Omit<Expectation, 'totalsFirst' | 'totalsLast'> {
  platform: Platform;
  filename: string;
  encoding: ReportEncoding;
  delimiter: ',' | '\t' | ';';
  lineBreak: '\n' | '\r\n';
  titles: readonly string[];
  columns: readonly TableColumn[];
  words: readonly string[];
  /** Whole rows, as long as the header. */
  firstRows: readonly (readonly string[])[];
  lastRows: readonly (readonly string[])[];
}

const rowsPerPiece = 5_000;

/** Writes a table as platforms do: titles, header, totals, rows, totals; quotes only where they are needed. */
export function tableReport(shape: TableShape, { seed, rows }: ReportSize): GeneratedReport {
  const facts: FactOptions = { seed, rows, words: shape.words };
  const { encoding, firstRows, lastRows } = shape;
  const pieces: Buffer[] = [];
  let piece: string[] = [...shape.titles];
  const add = (cells: readonly string[]) =>
    piece.push(cells.map((cell) => quoted(cell, shape)).join(shape.delimiter));
  const flush = () => {
    const text = piece.map((line) => line + shape.lineBreak).join('');
    const mark = pieces.length > 0 && encoding !== 'shift_jis' ? withoutMark(encoding) : encoding;
    pieces.push(mark === 'utf-16le' ? Buffer.from(text, 'utf16le') : encodeReport(text, mark));
    piece = [];
  };
  add(shape.columns.map(({ header }) => header));
  for (const cells of firstRows) add(cells);
  for (const fact of reportFacts(facts)) {
    add(shape.columns.map(({ cell }) => cell(fact)));
    if (piece.length >= rowsPerPiece) flush();
  }
  for (const cells of lastRows) add(cells);
  flush();
  return assemble({
    platform: shape.platform,
    filename: shape.filename,
    bytes: Buffer.concat(pieces),
    facts,
    has: shape.has,
    levels: shape.levels,
    hasIds: shape.hasIds,
    currency: shape.currency,
    currencyDigits: shape.currencyDigits,
    totalsFirst: firstRows.length,
    totalsLast: lastRows.length,
  });
}

/** The byte order mark stands at the beginning of the file and nowhere else. */
const withoutMark = (encoding: Exclude<ReportEncoding, 'shift_jis'>) =>
  encoding === 'utf-16le with bom' ? 'utf-16le' : 'utf-8';

function quoted(cell: string, { delimiter }: TableShape): string {
  const needsQuotes = cell.includes(delimiter) || cell.includes('"') || cell.includes('\n');
  return needsQuotes ? `"${cell.replaceAll('"', '""')}"` : cell;
}
