import { isSluiceError, type SluiceError } from '../../src/lib/errors.ts';
import { type OpenRowsOptions, openRows } from '../../src/lib/rows/open-rows.ts';
import type { RowReader } from '../../src/lib/rows/types.ts';
import { type CountedStream, cutAt } from './byte-stream.ts';

type Source = string | Uint8Array | CountedStream;

/** Reads a whole file; returns the JSON text of its rows and the reader's own report. */
export async function readRows(source: Source, options: OpenRowsOptions = {}) {
  const reader = await openRows(streamOf(source), options);
  const rows = await readAll(reader);
  const { columns, format, delimiter, layout, notes } = reader;
  return { rows, columns, format, delimiter, layout, notes };
}

/** The JSON text of all rows; closes the reader. */
export async function readAll(reader: RowReader): Promise<string[]> {
  const rows: string[] = [];
  try {
    for (;;) {
      const batch = await reader.read(1_000, 1024 * 1024);
      if (batch === null) return rows;
      rows.push(...batch.map(({ inputJson }) => inputJson));
    }
  } finally {
    await reader.close();
  }
}

/** The error that a file is refused with; fails when it is read after all. */
export async function refusalOf(source: Source, options: OpenRowsOptions = {}): Promise<SluiceError> {
  try {
    await readRows(source, options);
  } catch (error) {
    if (isSluiceError(error)) return error;
    throw error;
  }
  throw new Error('The file was read, but should have been refused');
}

function streamOf(source: Source): CountedStream {
  if (typeof source === 'string') return cutAt(Buffer.from(source), []);
  return source instanceof Uint8Array ? cutAt(source, []) : source;
}
