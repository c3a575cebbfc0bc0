import type { Database } from '../../../lib/postgres/db.ts';
import type { ExactValue } from '../../../lib/rows/exact-json.ts';
import { listForExport } from '../grid/store.ts';
import type { ItemJob } from '../types.ts';
import { writeCsv } from './csv-writer.ts';
import { createRowProjector, exportColumns } from './rows.ts';
import { writeXlsx } from './xlsx-writer.ts';

const batchRows = 5_000;

/** The grid as a file, straight from the database: nothing is computed again, and memory stays flat. */
export function exportItems(db: Database, job: ItemJob, format: 'csv' | 'xlsx'): AsyncGenerator<Uint8Array> {
  const columns = exportColumns(job.columns, job.resultColumns);
  const batches = readBatches(db, job, createRowProjector(columns));
  return format === 'csv'
    ? writeCsv(batches, { header: columns.header })
    : writeXlsx(batches, { header: columns.header });
}

/** The next rows are on their way while these are written. */
async function* readBatches(
  db: Database,
  job: ItemJob,
  project: ReturnType<typeof createRowProjector>,
): AsyncGenerator<ExactValue[][]> {
  const read = (afterId: number) => {
    const key = { tenantId: job.tenantId, jobId: job.jobId, afterId, limit: batchRows };
    const rows = db.tenant(job.tenantId, (tx) => listForExport(tx, key));
    // The reader gets the error; if the client has gone, nobody awaits it.
    rows.catch(() => {});
    return rows;
  };
  let rows = await read(0);
  for (;;) {
    const last = rows.at(-1);
    if (!last) return;
    const next = rows.length < batchRows ? null : read(last.id);
    yield rows.map(project);
    if (next === null) return;
    rows = await next;
  }
}
