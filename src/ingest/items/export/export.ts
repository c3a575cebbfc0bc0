import { isSluiceError } from '../../../lib/errors.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import type { ExactValue } from '../../../lib/rows/exact-json.ts';
import { writeCsv } from '../../../lib/tables/csv-writer.ts';
import { writeParquet } from '../../../lib/tables/parquet-writer.ts';
import { listForDetailedExport, listForExport } from '../grid/store.ts';
import { findItemJob } from '../store.ts';
import type { ItemJob } from '../types.ts';
import { type ChosenColumns, chooseColumns, type DetailedItem, type ExportWish } from './chosen-columns.ts';
import { writeXlsx } from './xlsx-writer.ts';

export const exportFormats = ['csv', 'xlsx', 'parquet'] as const;
export type ExportFormat = (typeof exportFormats)[number];

const batchRows = 5_000;

/** The grid as a file, straight from the database: nothing is computed again, and memory stays flat. */
export function exportItems(
  db: Database,
  job: ItemJob,
  { format, wish }: { format: ExportFormat; wish: ExportWish },
): AsyncGenerator<Uint8Array> {
  const columns = chooseColumns(job, wish);
  const { header } = columns;
  const batches = readBatches(db, { job, columns, isDetailed: wish.input || wish.reasons });
  if (format === 'csv') return writeCsv(batches, { header });
  if (format === 'xlsx') return writeXlsx(batches, { header });
  const [rowNo = ''] = chooseColumns(job, { ...wish, columns: null }).header;
  return writeParquet(batches, { header, types: new Map([[rowNo, 'integer']]) });
}

interface Export {
  job: ItemJob;
  columns: ChosenColumns;
  isDetailed: boolean;
}

/** The next rows are on their way while these are written. */
async function* readBatches(
  db: Database,
  { job, columns, isDetailed }: Export,
): AsyncGenerator<ExactValue[][]> {
  const { tenantId, jobId } = job;
  const late = new LateColumns(db, job);
  const read = (afterId: number) => {
    const key = { tenantId, jobId, afterId, limit: batchRows };
    const rows = db.tenant(tenantId, (tx) => (isDetailed ? listForDetailedExport : listForExport)(tx, key));
    // The reader gets the error; if the client has gone, nobody awaits it.
    rows.catch(() => {});
    return rows;
  };
  let rows = await read(0);
  for (;;) {
    const last = rows.at(-1);
    if (!last) return;
    const next = rows.length < batchRows ? null : read(last.id);
    const values: ExactValue[][] = [];
    for (const row of rows) values.push(projectNow(row, columns) ?? (await late.project(row, columns)));
    yield values;
    if (next === null) return;
    rows = await next;
  }
}

/** Null when the result has a column that the export does not have. */
function projectNow(row: DetailedItem, columns: ChosenColumns): ExactValue[] | null {
  try {
    return columns.project(row);
  } catch (error) {
    if (isSluiceError(error) && error.code === 'export_column_missing') return null;
    throw error;
  }
}

/**
 * Rows that ended with a new column after the header was written. When the export began they were open, and so they
 * are exported: the alternatives are to fail, or to drop the value without a word.
 */
class LateColumns {
  readonly #db: Database;
  readonly #job: ItemJob;
  #known: ReadonlySet<string> = new Set();

  constructor(db: Database, job: ItemJob) {
    this.#db = db;
    this.#job = job;
  }

  async project(row: DetailedItem, columns: ChosenColumns): Promise<ExactValue[]> {
    const isNew = () => this.#isLate(row, columns);
    if (!isNew()) {
      const job = await this.#db.tenant(this.#job.tenantId, (tx) => findItemJob(tx, this.#job));
      this.#known = new Set(job?.resultColumns);
    }
    // A column that not even the job knows is a mistake of ours.
    return isNew() ? columns.projectOpen(row) : columns.project(row);
  }

  #isLate(row: DetailedItem, columns: ChosenColumns): boolean {
    try {
      columns.project(row);
      return false;
    } catch (error) {
      const missing = isSluiceError(error) ? (error.details.columns as string[] | undefined) : undefined;
      return missing?.every((name) => this.#known.has(name)) ?? false;
    }
  }
}
