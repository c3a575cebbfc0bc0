import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { type ExactValue, numberText } from '../rows/exact-json.ts';
import { createTurns } from '../timing/event-loop-turns.ts';
import type { TableBatches, TableRow } from './types.ts';

/** Text of one row group: one with fewer rows when they are long. */
const groupCharacters = 4 * 1024 * 1024;

/** `integer` is never null; the others may be. `day` is written as `2026-03-01`, `decimal` as a double. */
export type ParquetType = 'text' | 'integer' | 'count' | 'decimal' | 'day';

export interface ParquetOptions {
  header: readonly string[];
  /** Columns that are not text. */
  types: ReadonlyMap<string, ParquetType>;
}

/**
 * Parquet with one row group per batch, so that memory stays flat. A column is text unless its type is given: a file
 * has one type per column, and nobody can guess the types of rows that are yet to be read. Null stays null.
 */
export async function* writeParquet(
  batches: TableBatches,
  { header, types }: ParquetOptions,
): AsyncGenerator<Uint8Array> {
  const bytes = new ChunkedBytes();
  const columns = header.map((name) => ({ name, type: types.get(name) ?? 'text' }));
  const file = new ParquetWriter({ writer: bytes, schema: schemaOf(columns), createdBy: 'sluice' });
  const takeTurn = createTurns();
  for await (const rows of batches) {
    for (const group of groupsOf(rows)) {
      await file.write({ columnData: columnsOf(group, columns), rowGroupSize: group.length });
      yield bytes.take();
      await takeTurn();
    }
  }
  await file.finish();
  yield bytes.take();
}

interface ParquetColumn {
  name: string;
  type: ParquetType;
}
type Schema = ConstructorParameters<typeof ParquetWriter>[0]['schema'];

const elements: Record<ParquetType, Omit<Schema[number], 'name'>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
  integer: { type: 'INT32', repetition_type: 'REQUIRED' },
  count: { type: 'INT64', repetition_type: 'OPTIONAL' },
  decimal: { type: 'DOUBLE', repetition_type: 'OPTIONAL' },
  day: { type: 'INT32', converted_type: 'DATE', repetition_type: 'OPTIONAL' },
};

const writers: Record<ParquetType, (value: ExactValue) => unknown> = {
  text: textOf,
  integer: Number,
  count: (value) => (value === null ? null : BigInt(textOf(value) ?? 0)),
  decimal: (value) => (value === null ? null : Number(textOf(value))),
  day: (value) => (value === null ? null : new Date(`${textOf(value)}T00:00:00Z`)),
};

function schemaOf(columns: readonly ParquetColumn[]): Schema {
  const described = columns.map(({ name, type }) => ({ name, ...elements[type] }));
  return [{ name: 'root', num_children: columns.length }, ...described];
}

function columnsOf(rows: readonly TableRow[], columns: readonly ParquetColumn[]) {
  return columns.map(({ name, type }, at) => {
    const write = writers[type];
    return { name, data: rows.map((row) => write(row[at] ?? null)) };
  });
}

function textOf(value: ExactValue): string | null {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'number') return numberText(value);
  return typeof value === 'boolean' ? String(value) : value.text;
}

function* groupsOf(rows: readonly TableRow[]): Generator<readonly TableRow[]> {
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
