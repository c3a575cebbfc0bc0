import type { SluiceError } from '../../../../lib/errors.ts';
import type { RawRow, ReportLayout, RowBatch } from '../types.ts';

export type Encoding = ReportLayout['encoding'];
export type DelimitedLayout = Extract<ReportLayout, { format: 'delimited' }>;
export type JsonLayout = Extract<ReportLayout, { format: 'json' }>;
export type JsonShape = JsonLayout['shape'];

/** Opens the file at a byte. Called anew for each pass over the file; each source is let go when it is done with. */
export type OpenBytes = (fromByte: number) => AsyncIterable<Uint8Array>;

/** The platform's opinion on which of the first lines names the columns. */
export type HeaderFinder = (
  candidates: readonly (readonly string[])[],
) => { at: number } | { fails: SluiceError };

export interface ReportReader {
  /** Of JSON, the headers grow while batches are read. */
  readonly layout: ReportLayout;
  /**
   * Reads from the beginning, or from the point of resumption, on every call. A batch has fewer rows than `maxRows`
   * when they are large, and at the end. Cells may be parts of a larger text: who keeps them for long, copies them.
   */
  batches(maxRows: number): AsyncIterable<RowBatch>;
}

/** Lengths are in UTF-16 units of the decoded text, so that they mean the same in every encoding. */
export interface ReadingLimits {
  columns: number;
  cellLength: number;
  rowLength: number;
  /** Lines of delimited text, or records of JSON. */
  lines: number;
  /** Levels of objects and arrays in a JSON record; the record itself is the first. */
  jsonDepth: number;
  /** A batch ends early when its rows have this length together. */
  batchLength: number;
  /** How many lines are shown to the header finder. */
  headerLines: number;
  /** How far behind the first text the header, or the shape of JSON, is looked for. */
  headBytes: number;
  /** How far a file without a byte order mark is looked through for its encoding. */
  encodingBytes: number;
  /** As large as the pieces of a file stream, which are then passed on without being copied together. */
  pieceBytes: number;
}

export const defaultReadingLimits: ReadingLimits = {
  columns: 2_000,
  cellLength: 100_000,
  rowLength: 1_000_000,
  lines: 5_000_000,
  jsonDepth: 20,
  batchLength: 4_000_000,
  headerLines: 30,
  headBytes: 256 * 1024,
  encodingBytes: 512 * 1024 * 1024,
  pieceBytes: 64 * 1024,
};

/** Why a scanner stopped: it has enough rows, needs more text, or the text is at its end. */
export type Stop = 'full' | 'starved' | 'ended';

/** The text that a scanner may look at. */
export interface ScannedText {
  readonly text: string;
  /** Nothing comes after this text. */
  readonly isLast: boolean;
}

/** Cuts text into rows. It keeps no state inside a row, so every place between two rows can be returned to. */
export interface RowScanner {
  /** Goes on with another text, which begins where the last left off. */
  look(scanned: ScannedText): void;
  /** Adds rows until there are `maxRows` in the list or the text does not hold another whole one. */
  fill(rows: RawRow[], maxRows: number): Stop;
  /** How much of the text is done with. */
  readonly at: number;
  /** Where in the text the last row ended, which is where reading can go on; null when none ended in this text. */
  readonly rowsEnd: number | null;
  readonly nextRowIndex: number;
  readonly nextLine: number;
  /** What the rows so far were read with; later rows must not change it. */
  layout(): ReportLayout;
}
