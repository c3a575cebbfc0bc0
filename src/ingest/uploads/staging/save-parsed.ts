import type { Tx } from '../../../lib/postgres/db.ts';
import { reconcile, totalWarnings } from '../reconciliation/reconcile.ts';
import { saveParseFigures } from '../store.ts';
import type { Blocker, Upload } from '../types.ts';
import type { UploadCheckpoint } from './checkpoint.ts';
import { resolveRepeats } from './repeats.ts';
import { sumRefused } from './repeats-store.ts';

interface Parsed {
  checkpoint: UploadCheckpoint;
  layout: Record<string, unknown>;
  blockers: Blocker[];
}

/**
 * Ends parsing: decides what becomes of lines that share a key, and saves what is known about the file. An upload with
 * a blocker waits for a person, whoever sent it.
 */
export async function saveParsed(
  tx: Tx,
  upload: Upload,
  { checkpoint, layout, blockers }: Parsed,
): Promise<void> {
  const { totalRows, validRows, invalidRows, warnings, sums } = checkpoint.figures;
  const repeats = await resolveRepeats(tx, upload, { kinds: checkpoint.kinds, validRows });
  const refused = repeats.refusedRows === 0 ? {} : await sumRefused(tx, upload);
  const reconciliation = reconcile({ sums, duplicates: repeats.duplicates, refused, promoted: null });
  await saveParseFigures(tx, upload, {
    totalRows,
    validRows,
    invalidRows,
    warnings: [...warnings, ...repeats.warnings, ...totalWarnings(reconciliation)],
    layout: {
      ...layout,
      dimensions: repeats.dimensions,
      has_repeats: repeats.hasRepeats,
      duplicates: repeats.duplicates,
    },
    blockers: [...blockers, ...repeats.blockers],
    reconciliation: totalRows === 0 ? null : reconciliation,
  });
}
