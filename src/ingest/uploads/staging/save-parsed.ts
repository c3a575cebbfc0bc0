import type { Tx } from '../../../lib/postgres/db.ts';
import { reconcile, totalWarnings } from '../reconciliation/reconcile.ts';
import { saveParseFigures } from '../store.ts';
import type { Blocker, Upload, WarningCount } from '../types.ts';
import type { UploadCheckpoint } from './checkpoint.ts';
import { resolveRepeats } from './repeats.ts';
import { sumRefused } from './repeats-store.ts';
import { unreadSpend } from './unread-spend.ts';

interface Parsed {
  /** Cells that people corrected. */
  correctedCells: number;
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
  { checkpoint, layout, blockers, correctedCells }: Parsed,
): Promise<void> {
  const { totalRows, validRows, invalidRows, warnings, sums, summaries } = checkpoint.figures;
  const repeats = await resolveRepeats(tx, upload, { kinds: checkpoint.kinds, validRows, summaries });
  const refused = repeats.refusedRows === 0 ? {} : await sumRefused(tx, upload);
  const reconciliation = reconcile({ sums, duplicates: repeats.duplicates, refused, promoted: null });
  await saveParseFigures(tx, upload, {
    totalRows,
    validRows,
    invalidRows,
    warnings: [
      ...sheetWarnings(upload),
      ...correctionWarnings(correctedCells),
      ...unreadSpend(layout),
      ...warnings,
      ...repeats.warnings,
      ...totalWarnings(reconciliation),
    ],
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

/** Nobody should believe that the stored figures are the file's, cell by cell. */
function correctionWarnings(count: number): WarningCount[] {
  if (count === 0) return [];
  const message =
    'Cells of the file were corrected by hand during review; the list of corrections says which.';
  return [{ code: 'cells_corrected', message, count }];
}

const mostSheetsShown = 5;

/** Sheets that were not read: nobody should believe that their figures are stored. */
function sheetWarnings({ unpacked }: Upload): WarningCount[] {
  const others = unpacked?.other_sheets ?? [];
  if (unpacked === null || others.length === 0) return [];
  const named = others.slice(0, mostSheetsShown).map((name) => JSON.stringify(name));
  const rest = others.length > mostSheetsShown ? ` and ${others.length - mostSheetsShown} more` : '';
  const message =
    `The workbook has several sheets. ${JSON.stringify(unpacked.sheet)} was read, ${named.join(', ')}${rest} ` +
    'not. Upload other reports as files of their own.';
  return [{ code: 'other_sheets', message, count: others.length }];
}
