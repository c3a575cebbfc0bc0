import { csvField as textField } from '../formats/csv-cells.ts';
import { type ExactValue, numberText } from '../rows/exact-json.ts';
import { createTurns } from '../timing/event-loop-turns.ts';
import type { TableBatches, TableRow } from './types.ts';

export interface CsvOptions {
  header: readonly string[];
  /** How much text is collected before it is yielded. */
  chunkCharacters?: number;
}

/**
 * RFC 4180 in UTF-8: CRLF, header first, quotes doubled. Null is an empty field and the empty text is `""`, so that a
 * reader that looks can tell them apart. Text that a spreadsheet would run gets a leading apostrophe.
 * A lone surrogate has no UTF-8 form and is written as U+FFFD.
 */
export async function* writeCsv(batches: TableBatches, options: CsvOptions): AsyncGenerator<Uint8Array> {
  const limit = options.chunkCharacters ?? 128 * 1024;
  const takeTurn = createTurns();
  let text = csvLine(options.header);
  for await (const rows of batches) {
    for (const row of rows) {
      text += csvLine(row);
      if (text.length < limit) continue;
      yield Buffer.from(text, 'utf8');
      text = '';
      await takeTurn();
    }
  }
  yield Buffer.from(text, 'utf8');
}

function csvLine(row: TableRow): string {
  // A line with nothing on it is skipped by most readers, so a lone null is written as the empty text.
  if (row.length === 1 && row[0] === null) return '""\r\n';
  let line = '';
  for (let column = 0; column < row.length; column += 1) {
    const field = csvField(row[column] ?? null);
    line = column === 0 ? field : `${line},${field}`;
  }
  return `${line}\r\n`;
}

function csvField(value: ExactValue): string {
  if (typeof value === 'string') return value === '' ? '""' : textField(value);
  if (value === null) return '';
  if (typeof value === 'number') return numberText(value);
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  return value.text;
}
