import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { type ExactValue, numberText } from '../../../lib/rows/exact-json.ts';
import { createTurns } from '../../../lib/timing/event-loop-turns.ts';
import type { ExportBatches, ExportRow } from './rows.ts';

/** Text of one row group: one with fewer rows when they are long. */
const groupCharacters = 4 * 1024 * 1024;

/**
 * Parquet with one row group per batch, so that memory stays flat. The row number is an integer. Every other column is
 * text: a file has one type per column, and nobody knows the types of rows that are yet to be read. Null stays null.
 */
export async function* writeParquet(
  batches: ExportBatches,
  { header, integers }: { header: readonly string[]; integers: ReadonlySet<string> },
): AsyncGenerator<Uint8Array> {
  const bytes = new ChunkedBytes();
  const file = new ParquetWriter({ writer: bytes, schema: schemaOf(header, integers), createdBy: 'sluice' });
  const takeTurn = createTurns();
  for await (const rows of batches) {
    for (const group of groupsOf(rows)) {
      await file.write({ columnData: columnsOf(group, { header, integers }), rowGroupSize: group.length });
      yield bytes.take();
      await takeTurn();
    }
  }
  await file.finish();
  yield bytes.take();
}

type Schema = ConstructorParameters<typeof ParquetWriter>[0]['schema'];

function schemaOf(header: readonly string[], integers: ReadonlySet<string>): Schema {
  const columns: Schema = header.map((name) =>
    integers.has(name)
      ? { name, type: 'INT32', repetition_type: 'REQUIRED' }
      : { name, type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
  );
  return [{ name: 'root', num_children: header.length }, ...columns];
}

function columnsOf(
  rows: readonly ExportRow[],
  { header, integers }: { header: readonly string[]; integers: ReadonlySet<string> },
) {
  return header.map((name, at) => ({
    name,
    data: rows.map((row) => {
      const value = row[at] ?? null;
      return integers.has(name) ? Number(value) : textOf(value);
    }),
  }));
}

function textOf(value: ExactValue): string | null {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'number') return numberText(value);
  return typeof value === 'boolean' ? String(value) : value.text;
}

function* groupsOf(rows: readonly ExportRow[]): Generator<readonly ExportRow[]> {
  let first = 0;
  let characters = 0;
  for (const [at, row] of rows.entries()) {
    characters += row.reduce<number>(
      (sum, value) => sum + (typeof value === 'string' ? value.length : 16),
      0,
    );
    if (characters < groupCharacters) continue;
    yield rows.slice(first, at + 1);
    first = at + 1;
    characters = 0;
  }
  if (first < rows.length) yield rows.slice(first);
}

/** What was written since it was taken last. `offset` goes on counting: the footer names places in the file. */
class ChunkedBytes extends ByteWriter {
  take(): Uint8Array {
    const taken = this.getBytes().slice();
    this.index = 0;
    return taken;
  }
}
