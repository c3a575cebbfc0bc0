import type { SluiceError } from '../../errors.ts';
import type { Archive } from '../../formats/archive.ts';
import { XmlReader } from '../../formats/xml.ts';
import { createTurns } from '../../timing/event-loop-turns.ts';
import { readerErrors } from '../errors.ts';
import { quoted, RowNotes } from '../notes.ts';
import { RowQueue } from '../row-queue.ts';
import { OpenRowReader, type RowSource } from '../row-reader.ts';
import type { ReaderLimits, RowReader } from '../types.ts';
import { type ChosenSheet, chooseSheet } from './choose-sheet.ts';
import { SheetRows } from './sheet-rows.ts';
import { malformed, maxXmlDepth, openWorkbook, type Workbook } from './workbook.ts';

export interface SheetOptions {
  /** Its name, or its number from 1. Default: the first visible one. */
  sheet?: string | undefined;
  limits: ReaderLimits;
  /** Whether a sheet that is not quite a table is read by the rules of `notes.ts`. Default: it is refused. */
  repair?: boolean | undefined;
  /** The row of the header. Default: the first row with values. */
  headerLine?: number | undefined;
  /** What becomes of a cell with an error. Default: null. */
  errorCells?: 'null' | 'text' | undefined;
  /**
   * `csv`: each row of the sheet, titles and header included, is a line of CSV instead of a JSON object. Default:
   * objects.
   */
  form?: 'objects' | 'csv' | undefined;
}

interface OpenWorkbookOptions extends SheetOptions {
  /** Ends the reading, also in the middle of a part. */
  signal?: AbortSignal | undefined;
}

/** Opens the rows of one sheet. Takes over the archive: closing the reader closes it. */
export async function openWorkbookRows(archive: Archive, options: OpenWorkbookOptions): Promise<RowReader> {
  const { limits, signal } = options;
  let workbook: Workbook | null = null;
  try {
    workbook = await openWorkbook(archive, { limits, signal });
    const sheet = chooseSheet(workbook.sheets, options.sheet);
    const queue = new RowQueue(limits);
    const notes = options.repair ? new RowNotes() : null;
    const source = new SheetSource({ archive, workbook, sheet, options, queue, notes });
    return await openReader(source, { queue, notes, workbook, sheet, isAsked: options.sheet !== undefined });
  } catch (error) {
    archive.close();
    await workbook?.strings.close();
    throw error;
  }
}

interface OpenedSheet {
  queue: RowQueue;
  notes: RowNotes | null;
  workbook: Workbook;
  sheet: ChosenSheet;
  isAsked: boolean;
}

async function openReader(source: SheetSource, opened: OpenedSheet): Promise<RowReader> {
  const { queue, notes, workbook, sheet } = opened;
  const sheets = workbook.sheets
    .filter(({ part, isHidden }) => part !== null && !isHidden)
    .map(({ name }) => name);
  const shown = sheets.slice(0, mostListedSheets);
  if (sheets.length > 1 && !opened.isAsked) {
    const others = sheets
      .filter((name) => name !== sheet.name)
      .slice(0, 5)
      .map(quoted);
    notes?.add(
      'other_sheets',
      { line: null, row: null },
      () => `read ${quoted(sheet.name)}, not ${others.join(', ')}`,
    );
  }
  const layout = () => ({
    encoding: null,
    headerLine: source.headerLine,
    sheet: sheet.name,
    sheets: shown,
    ...(workbook.is1904 ? { is1904: true } : {}),
  });
  const reader = new OpenRowReader({ format: 'xlsx', delimiter: null, source, queue, layout, notes });
  try {
    await reader.readHeader();
    return reader;
  } catch (error) {
    // An entry that is still being read keeps the file open, even when its archive is closed.
    await source.close();
    throw error;
  }
}

const mostListedSheets = 100;

interface SheetSourceParts {
  archive: Archive;
  workbook: Workbook;
  sheet: ChosenSheet;
  options: OpenWorkbookOptions;
  queue: RowQueue;
  notes: RowNotes | null;
}

/** Parsing is slow: twice as much at once would delay everything else in the process. */
const pieceBytes = 32 * 1024;
const headerStepBytes = 1024;
/** The shortest cell that names a shared text, `<c t="s"><v>0</v></c>`. */
const shortestCellBytes = 20;
/** The shortest possible row, `<row><c><v>1</v></c></row>`. */
const shortestRowBytes = 26;
/** How much one step may put into the queue by repeating the longest text, or long column names. */
const stepBytes = 2 * 1024 * 1024;
/** Rows of small files may reach this size, whatever the size of the file. */
const freeRowBytes = 64 * 1024 * 1024;

/** Reads the cells of a sheet in steps, so small that their rows never exceed the memory limit. */
class SheetSource implements RowSource {
  readonly #parts: SheetSourceParts;
  readonly #rows: SheetRows;
  readonly #xml: XmlReader;
  readonly #pieces: AsyncIterator<Buffer>;
  readonly #takeTurn = createTurns();
  #piece: Buffer = Buffer.alloc(0);

  constructor(parts: SheetSourceParts) {
    this.#parts = parts;
    const { archive, workbook, sheet, options, queue, notes } = parts;
    const { limits, headerLine, errorCells = 'null', form = 'objects' } = options;
    const entry = archive.find(sheet.part);
    if (entry === null) throw malformed(sheet.part, 'is missing, and is the sheet to be read');
    this.#rows = new SheetRows({
      part: sheet.part,
      workbook,
      limits,
      queue,
      notes,
      headerLine,
      errorCells,
      form,
      maxRowBytesTotal: Math.max(freeRowBytes, archive.sizeBytes * limits.inflateRatio),
    });
    this.#xml = new XmlReader({
      events: this.#rows,
      isStrict: true,
      maxDepth: maxXmlDepth,
      broken: (why) => malformed(sheet.part, `is not readable XML ${this.#near()}: ${why}`),
    });
    this.#pieces = archive.read(entry)[Symbol.asyncIterator]();
  }

  get columns(): readonly string[] | null {
    return this.#rows.columns;
  }

  get headerLine(): number | null {
    return this.#rows.headerLine;
  }

  async advance(): Promise<boolean> {
    await this.#takeTurn();
    this.#parts.options.signal?.throwIfAborted();
    if (this.#piece.length === 0) {
      const next = await this.#pieces.next();
      if (next.done) {
        this.#xml.end();
        this.#rows.finish();
        return false;
      }
      this.#piece = next.value;
    }
    const length = this.#stepLength();
    const step = this.#piece.subarray(0, length);
    this.#piece = this.#piece.subarray(length);
    this.#xml.write(step);
    return true;
  }

  whyNoRows(): SluiceError {
    const name = JSON.stringify(this.#parts.sheet.name.slice(0, 100));
    const count = this.columns?.length;
    if (count === undefined) {
      return readerErrors.raise.empty_file(`The sheet ${name} is empty: there is not even a header.`);
    }
    return readerErrors.raise.no_rows(
      `The sheet ${name} has a header of ${count} columns, but no row after it.`,
    );
  }

  async close(): Promise<void> {
    this.#piece = Buffer.alloc(0);
    await this.#pieces.return?.();
    this.#parts.archive.close();
    await this.#parts.workbook.strings.close();
  }

  #stepLength(): number {
    const cells = stepBytes / Math.max(1, this.#parts.workbook.strings.longestUnits);
    const rows = stepBytes / Math.max(1, this.#rows.shortestRowUnits);
    const most = Math.floor(Math.min(cells * shortestCellBytes, rows * shortestRowBytes));
    // The length of rows is only known after the header.
    return Math.min(this.columns === null ? headerStepBytes : pieceBytes, Math.max(64, most));
  }

  #near(): string {
    return `near row ${this.#rows.sheetRow}`;
  }
}
