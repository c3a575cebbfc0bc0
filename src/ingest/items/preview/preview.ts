import type { Workbooks } from '../../../kernel/files/workbooks.ts';
import type { RowReader } from '../../../lib/rows/types.ts';
import type { ItemSource } from '../intake/form.ts';
import { openRowsOnly } from '../intake/job-source.ts';
import { type ColumnKind, ColumnKinds } from './value-kinds.ts';

/** A file of rows as a job would get it, without a job. */
export interface FilePreview {
  fileName: string | null;
  layout: Pick<RowReader, 'format' | 'delimiter'> & RowReader['layout'];
  rowCount: number;
  /** Before they are mapped; null for JSON, where each row names its own. */
  fileColumns: readonly string[] | null;
  /** As mapped, with what their values look like. */
  columns: ColumnKind[];
  /** JSON text of the first rows. */
  rows: string[];
  notes: RowReader['notes'];
}

/** Kinds are detected from this many rows; more would say the same. */
const lookedRows = 2_000;
const rowsAtOnce = 1_000;
const bytesAtOnce = 1024 * 1024;
/** Of all rows that are shown: one may be as large as a row may be. */
const shownBytes = 512 * 1024;

/** Reads the whole file, so that the count is right and every problem shows. Keeps a few rows. */
export async function previewFile(
  workbooks: Workbooks,
  source: ItemSource,
  { tenantId, signal, shownRows }: { tenantId: string; signal: AbortSignal; shownRows: number },
): Promise<FilePreview> {
  const opened = await openRowsOnly(source, workbooks.forRequest({ tenantId, signal }));
  const kinds = new ColumnKinds();
  const rows: string[] = [];
  let rowCount = 0;
  let bytes = 0;
  try {
    for (;;) {
      signal.throwIfAborted();
      const batch = await opened.read(rowsAtOnce, bytesAtOnce);
      if (batch === null) break;
      rowCount += batch.length;
      for (const row of batch) {
        if (kinds.looked >= lookedRows) break;
        kinds.look(row);
        bytes += row.sizeBytes;
        if (rows.length < shownRows && (bytes <= shownBytes || rows.length === 0)) rows.push(row.inputJson);
      }
    }
    const fileName = opened.describe();
    const { layout, fileColumns, columns, notes } = opened;
    return { fileName, layout, rowCount, fileColumns, columns: kinds.describe(columns), rows, notes };
  } finally {
    await opened.close();
  }
}
