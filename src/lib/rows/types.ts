import { maxJsonDepth } from '../json-depth.ts';
import type { RowNote } from './notes.ts';

export type RowFormat = 'csv' | 'tsv' | 'json' | 'ndjson' | 'xlsx';

/** One row of the input, ready to be stored. */
export interface ParsedRow {
  /** From 1; a header is not counted. */
  rowNo: number;
  /**
   * JSON text of the row's object on one line, keys in column order. Numbers of JSON input are as they were written.
   * A line of CSV, if that was asked for of a workbook.
   */
  inputJson: string;
  /** Length of `inputJson` in UTF-8. */
  sizeBytes: number;
}

/**
 * Rows of one file, in order. The first problem of the file ends it: from then on `read` always throws, and the caller
 * must discard what was read before.
 */
export interface RowReader {
  readonly format: RowFormat;
  /**
   * The header, or null for JSON, where each row names its own columns. Repaired rows may add columns while the file
   * is read.
   */
  readonly columns: readonly string[] | null;
  /** What separates the cells; null if the format has no delimiter. */
  readonly delimiter: string | null;
  readonly layout: FileLayout;
  /** What was repaired so far; complete when all rows were read. Empty for strict readers. */
  readonly notes: readonly RowNote[];
  /** The next rows, at least one and within both bounds unless a single row is larger; null at the end. */
  read(maxRows: number, maxBytes: number): Promise<ParsedRow[] | null>;
  /** Releases the source. Safe to call more than once, and after an error. */
  close(): Promise<void>;
}

/** How a file is laid out; null for what its format does not have. */
export interface FileLayout {
  encoding: string | null;
  /** The line of the header, or its row in the sheet. */
  headerLine: number | null;
  /** The sheet that is read, and all that could be. */
  sheet: string | null;
  sheets: readonly string[];
  /** Of a workbook: whether it counts its days from 1904. */
  is1904?: boolean;
}

export const plainLayout: FileLayout = { encoding: null, headerLine: null, sheet: null, sheets: [] };

/** Splits decoded text into rows. The text may be cut anywhere between two characters. */
export interface RowScanner {
  feed(text: string): void;
  finish(): void;
}

export interface ReaderLimits {
  columns: number;
  cellBytes: number;
  rowBytes: number;
  /** Characters of a column's name. */
  columnNameLength: number;
  rows: number;
  /** Levels of objects and arrays in a JSON row; the row itself is the first. */
  jsonDepth: number;
  /** Input is parsed in pieces of this size, whatever the sender's packets are. */
  pieceBytes: number;
  /** The largest archive (XLSX, ZIP) that is stored in a temporary file. */
  archiveBytes: number;
  archiveEntries: number;
  /** How large the parts of an archive that are read may become. */
  inflatedBytes: number;
  /** The largest allowed ratio of expanded to compressed size; small archives may exceed it. */
  inflateRatio: number;
}

export const defaultReaderLimits: ReaderLimits = {
  columns: 1_000,
  cellBytes: 1024 * 1024,
  rowBytes: 4 * 1024 * 1024,
  columnNameLength: 200,
  rows: 5_000_000,
  jsonDepth: maxJsonDepth,
  pieceBytes: 64 * 1024,
  // The sender's own limit (MAX_UPLOAD_BYTES) is met before; this one is for files that are named by reference.
  archiveBytes: 4 * 1024 * 1024 * 1024,
  archiveEntries: 10_000,
  // A full sheet of a million rows and thirty columns is about a gigabyte of XML.
  inflatedBytes: 8 * 1024 * 1024 * 1024,
  inflateRatio: 200,
};
