import { clamp } from '../../../lib/numbers.ts';
import type { TableBatches, TableRow } from '../../../lib/tables/types.ts';
import { createTurns } from '../../../lib/timing/event-loop-turns.ts';
import { exportErrors } from './errors.ts';
import { createRowWriter, type RowWriter } from './xlsx-cells.ts';
import {
  contentTypesPart,
  packageRelationsPart,
  sheetClosing,
  sheetOpening,
  stylesPart,
  workbookPart,
  workbookRelationsPart,
} from './xlsx-parts.ts';
import { type ZipEntryStream, type ZipOptions, ZipStream } from './zip-stream.ts';

/** Excel's own limits. */
const sheetRowsMax = 1_048_576;
const sheetColumnsMax = 16_384;

export interface XlsxOptions {
  header: readonly string[];
  /** Rows per sheet including the header; further rows go to the next sheet, under the same header. */
  rowsPerSheet?: number;
  zip?: ZipOptions;
  /** How much XML is collected before it is compressed. */
  chunkCharacters?: number;
}

/**
 * An XLSX workbook written front to back in flat memory: sheets stream through a deflate stream into a ZIP, and the
 * parts that name the sheets come last. To cancel, return the generator: it frees the compressor.
 */
export async function* writeXlsx(batches: TableBatches, options: XlsxOptions): AsyncGenerator<Uint8Array> {
  assertColumnsFit(options.header);
  const workbook = new Workbook(options);
  const takeTurn = createTurns();
  try {
    for await (const rows of batches) {
      for (const row of rows) {
        if (workbook.isSheetFull) await workbook.turnSheet();
        workbook.addRow(row);
        if (!workbook.isChunkFull) continue;
        await workbook.flush();
        yield* workbook.take();
        await takeTurn();
      }
    }
    await workbook.end();
    yield* workbook.take();
  } finally {
    workbook.destroy();
  }
}

class Workbook {
  readonly #options: XlsxOptions;
  readonly #zip: ZipStream;
  readonly #rows: RowWriter;
  readonly #rowsPerSheet: number;
  readonly #chunkCharacters: number;
  #sheet: ZipEntryStream;
  #sheetCount = 0;
  #sheetRow = 0;
  #rowNumber = 0;
  #xml = '';

  constructor(options: XlsxOptions) {
    this.#options = options;
    this.#rowsPerSheet = Math.min(options.rowsPerSheet ?? sheetRowsMax, sheetRowsMax);
    this.#chunkCharacters = options.chunkCharacters ?? 256 * 1024;
    this.#rows = createRowWriter(options.header);
    this.#zip = new ZipStream(options.zip);
    // Programs that look at a file's first bytes know a workbook by a first entry of this name.
    this.#zip.add('_rels/.rels', packageRelationsPart());
    this.#zip.add('xl/styles.xml', stylesPart());
    this.#sheet = this.#openSheet();
  }

  get isSheetFull(): boolean {
    return this.#sheetRow >= this.#rowsPerSheet;
  }

  get isChunkFull(): boolean {
    return this.#xml.length >= this.#chunkCharacters;
  }

  addRow(row: TableRow): void {
    this.#sheetRow += 1;
    this.#rowNumber += 1;
    this.#xml += this.#rows.row(row, { sheetRow: this.#sheetRow, rowNumber: this.#rowNumber });
  }

  async turnSheet(): Promise<void> {
    await this.#closeSheet();
    this.#sheet = this.#openSheet();
  }

  async flush(): Promise<void> {
    const bytes = Buffer.from(this.#xml, 'utf8');
    this.#xml = '';
    await this.#sheet.write(bytes);
  }

  async end(): Promise<void> {
    await this.#closeSheet();
    const count = this.#sheetCount;
    this.#zip.add('xl/workbook.xml', workbookPart(count));
    this.#zip.add('xl/_rels/workbook.xml.rels', workbookRelationsPart(count));
    this.#zip.add('[Content_Types].xml', contentTypesPart(count));
    this.#zip.end();
  }

  take(): Uint8Array[] {
    return this.#zip.take();
  }

  destroy(): void {
    this.#sheet.destroy();
  }

  #openSheet(): ZipEntryStream {
    this.#sheetCount += 1;
    this.#sheetRow = 1;
    this.#xml = sheetOpening(this.#options.header.map(columnWidth)) + this.#rows.headerRow();
    return this.#zip.open(`xl/worksheets/sheet${this.#sheetCount}.xml`);
  }

  async #closeSheet(): Promise<void> {
    this.#xml += sheetClosing;
    await this.flush();
    await this.#sheet.end();
  }
}

/** In characters: as wide as the header needs, within what stays readable. */
function columnWidth(name: string): number {
  return clamp(name.length + 2, { min: 10, max: 40 });
}

function assertColumnsFit(header: readonly string[]): void {
  if (header.length <= sheetColumnsMax) return;
  throw exportErrors.raise.export_too_many_columns(
    `The result has ${header.length} columns; a sheet of an XLSX file holds at most ${sheetColumnsMax}`,
    { details: { columns: header.length, max: sheetColumnsMax } },
  );
}
