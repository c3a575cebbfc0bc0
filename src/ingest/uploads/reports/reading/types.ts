import type { SluiceError } from '../../../../lib/errors.ts';
import { maxJsonDepth } from '../../../../lib/json-depth.ts';
import type { RawRow, ReportLayout, RowBatch } from '../types.ts';

export type Encoding = ReportLayout['encoding'];
export type DelimitedLayout = Extract<ReportLayout, { format: 'delimited' }>;
export type JsonLayout = Extract<ReportLayout, { format: 'json' }>;
export type JsonShape = JsonLayout['shape'];

/** Opens the file at a byte. Called for each pass over the file; each source is closed after use. */
export type OpenBytes = (fromByte: number) => AsyncIterable<Uint8Array>;

/** Decides which of the first lines is the header. `known`: how many of its columns the platform knows. */
export type HeaderFinder = (
  candidates: readonly (readonly string[])[],
) => { at: number; known?: number } | { fails: SluiceError };

export interface ReportReader {
  /** For JSON, the headers grow while batches are read. */
  readonly layout: ReportLayout;
  /**
   * Every call reads from the beginning, or from the point of resumption. A batch has fewer rows than `maxRows` when
   * they are large, and at the end. Cells may be slices of a larger text: copy them to keep them.
   */
  batches(maxRows: number): AsyncIterable<RowBatch>;
}

/** Lengths are in UTF-16 units of the decoded text, so they are the same in every encoding. */
export interface ReadingLimits {
  columns: number;
  cellLength: number;
  rowLength: number;
  /** Lines of delimited text, or records of JSON. */
  lines: number;
  /** Levels of objects and arrays in a JSON record; the record itself is the first. */
  jsonDepth: number;
  /** A batch ends early when its rows have this total length. */
  batchLength: number;
  /** How many lines the header finder gets. */
  headerLines: number;
  /** How many bytes after the first text are searched for the header or the shape of JSON. */
  headBytes: number;
  /** How many bytes of a file without a byte order mark are read to find its encoding. */
  encodingBytes: number;
  /** The size of the pieces of a file stream, so that they need not be copied together. */
  pieceBytes: number;
}

export const defaultReadingLimits: ReadingLimits = {
  columns: 2_000,
  cellLength: 100_000,
  rowLength: 1_000_000,
  lines: 5_000_000,
  jsonDepth: maxJsonDepth,
  batchLength: 4_000_000,
  headerLines: 30,
  headBytes: 256 * 1024,
  encodingBytes: 512 * 1024 * 1024,
  pieceBytes: 64 * 1024,
};

/** Why a scanner stopped: it has enough rows, it needs more text, or the text has ended. */
export type Stop = 'full' | 'starved' | 'ended';

/** The text that a scanner reads. */
export interface ScannedText {
  readonly text: string;
  /** No text follows this one. */
  readonly isLast: boolean;
}

/** Splits text into rows. It keeps no state inside a row, so reading can resume between any two rows. */
export interface RowScanner {
  /** Continues with another text, which begins where the last one stopped. */
  look(scanned: ScannedText): void;
  /** Adds rows until the list has `maxRows` or the text contains no further whole row. */
  fill(rows: RawRow[], maxRows: number): Stop;
  /** How much of the text is processed. */
  readonly at: number;
  /** Where the last row ended in the text, so that reading can resume there; null when none ended in this text. */
  readonly rowsEnd: number | null;
  readonly nextRowIndex: number;
  readonly nextLine: number;
  /** The layout that the rows so far were read with; later rows must not change it. */
  layout(): ReportLayout;
}
