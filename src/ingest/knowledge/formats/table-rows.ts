import { isSluiceError } from '../../../lib/errors.ts';
import { openRows } from '../../../lib/rows/open-rows.ts';
import type { RowReader } from '../../../lib/rows/types.ts';
import { documentErrors } from './errors.ts';
import { MarkdownWriter } from './markdown-writer.ts';
import type { Converted, ConvertOptions } from './types.ts';

const maxSheets = 100;
const rowsAtOnce = 500;
const bytesAtOnce = 1024 * 1024;

/** Each row of a CSV file or workbook is a paragraph that repeats the names of its columns: it has to stand alone. */
export async function readTable(
  bytes: Buffer,
  options: ConvertOptions,
  format: 'csv' | 'xlsx',
): Promise<Converted> {
  const writer = new MarkdownWriter({ maxUnits: options.limits.maxTextUnits });
  const notes = new Set<string>();
  try {
    for (let number = 1; number <= maxSheets; number += 1) {
      const sheet = format === 'xlsx' ? String(number) : null;
      const isThere = await writeSheet(bytes, { options, writer, notes, sheet });
      if (!isThere || sheet === null) break;
      if (number === maxSheets) notes.add(`At most ${maxSheets} sheets are read.`);
    }
  } catch (error) {
    // The codes of rows are those of items and uploads; a document has its own.
    if (!isSluiceError(error) || error.code in documentErrors.definitions) throw error;
    throw documentErrors.raise.document_is_broken(error.message, { cause: error });
  }
  return { title: null, text: writer.toString(), notes: [...notes] };
}

interface SheetOptions {
  options: ConvertOptions;
  writer: MarkdownWriter;
  notes: Set<string>;
  /** Its number from 1; null: the file has no sheets. */
  sheet: string | null;
}

const nothingToRead = new Set(['no_rows', 'empty_file', 'empty_header']);

/** False if there is no such sheet. */
async function writeSheet(bytes: Buffer, { options, writer, notes, sheet }: SheetOptions): Promise<boolean> {
  let reader: RowReader | null = null;
  try {
    reader = await openRows(pieces(bytes), {
      repair: true,
      ...(sheet === null ? {} : { sheet }),
      limits: {
        inflatedBytes: options.limits.maxInflatedBytes,
        inflateRatio: options.limits.maxInflateRatio,
      },
    });
    if (reader.layout.sheet !== null) writer.heading(2, reader.layout.sheet);
    await writeRows(reader, { writer, onProgress: options.onProgress });
    for (const { message } of reader.notes) notes.add(message);
    return true;
  } catch (error) {
    if (isSluiceError(error) && error.code === 'sheet_not_found' && sheet !== '1') return false;
    if (!isSluiceError(error) || !nothingToRead.has(error.code)) throw error;
    // A table of one line, which counts as its header, has a text all the same.
    writer.paragraph((reader?.columns ?? []).join('; '));
    return true;
  } finally {
    await reader?.close();
  }
}

async function writeRows(
  reader: RowReader,
  { writer, onProgress }: { writer: MarkdownWriter; onProgress(): void },
): Promise<void> {
  for (;;) {
    const rows = await reader.read(rowsAtOnce, bytesAtOnce);
    if (rows === null) return;
    onProgress();
    for (const { inputJson } of rows) {
      const cells = Object.entries(JSON.parse(inputJson) as Record<string, unknown>);
      const filled = cells.filter(([, value]) => value !== null && value !== '');
      writer.paragraph(filled.map(([name, value]) => `${name}: ${textOf(value)}`).join('; '));
    }
  }
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

async function* pieces(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
