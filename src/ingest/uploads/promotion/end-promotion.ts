import type { WakeUp } from '../../../kernel/jobs/wake-up.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { uploadFailures } from '../errors.ts';
import { recordIngestionComplete, recordMove } from '../events.ts';
import { rememberMapping } from '../intake/mapping-store.ts';
import type { UploadMetrics } from '../metrics.ts';
import { noSums } from '../reconciliation/figure-sums.ts';
import { reconcile } from '../reconciliation/reconcile.ts';
import type { PlausibilityCheck } from '../reports/lines/plausibility.ts';
import type { AdditiveFigures } from '../reports/types.ts';
import { type PromotionPhase, promotionPhases, type UploadCheckpoint } from '../staging/checkpoint.ts';
import type { Upload, UploadStatus } from '../types.ts';
import { deleteFailedBreakdowns, deleteUnequalBreakdowns, hasBreakdowns } from './breakdowns-store.ts';
import { failUnpromoted, finishPromotion, type PromotionFigures, readPromotionFigures } from './end-store.ts';
import { dimensionsOf } from './facts-store.ts';
import { listDaySpend } from './history-store.ts';
import { findUnusualSpend } from './spend-history.ts';

/** With the default of 4 MB, counting the distinct keys of a large file would spill to disk. */
const inMemory = { work_mem: '64MB' };

interface EndDeps {
  /** Without it nothing is checked: the upload was given up. */
  plausibilityChecks?: string;
  plausibilityHistoryDays?: number;
  wake: WakeUp;
  metrics: UploadMetrics;
}

/**
 * Ends an upload: writes figures, final status and event together. With `failure`, promotion broke off: what was
 * promoted before stays and counts.
 */
export async function endPromotion(
  deps: EndDeps,
  tx: Tx,
  upload: Upload,
  checkpoint: UploadCheckpoint,
  failure?: { errorCode: string; errorText: string },
): Promise<void> {
  const { replaced, unusual, ...figures } = await tx.as(
    'sluice_promote',
    async (own) => {
      if (failure) await failRest(own, upload, { checkpoint, failure });
      const found = await readPromotionFigures(own, upload);
      return {
        ...found,
        replaced: await deleteUnequal(own, upload),
        unusual: await unusualSpend(deps, own, { upload, dates: found.affectedDates }),
      };
    },
    inMemory,
  );
  const { promotion } = checkpoint;
  const reconciliation = reconcile({
    sums: checkpoint.figures.sums ?? noSums,
    duplicates: (upload.layout?.duplicates as Partial<AdditiveFigures> | undefined) ?? {},
    refused: figures.refused,
    promoted: promotion.promoted ?? {},
    superseded: promotion.superseded,
  });
  const end = {
    ...figures,
    ...endOf(figures, failure),
    breakdownsStored: promotion.breakdowns ?? 0,
    reconciliation,
    warnings: [
      ...warningsOf(upload, checkpoint),
      ...replacedBreakdowns(replaced),
      ...(isChecked(deps, 'days_missing') ? missingDays(figures.affectedDates) : []),
      ...unusual,
    ],
  };
  // The upload was finished already, and so was its event.
  if (!(await tx.as('sluice_promote', (own) => finishPromotion(own, upload, end)))) return;
  const { status, errorCode, errorText } = end;
  await recordMove(deps, tx, upload, status, {
    row_count: figures.promotedRows,
    promoted_rows: figures.promotedRows,
    failed_rows: figures.failedRows,
    ...(errorCode === null ? {} : { error_code: errorCode, error_text: errorText }),
  });
  if (status !== 'failed') {
    await recordIngestionComplete(deps, tx, upload, { ...end, status });
    await rememberMapping(tx, upload);
  }
  tx.afterCommit(() => deps.metrics.promoted(upload.platform, figures));
}

function endOf(
  figures: PromotionFigures,
  failure?: { errorCode: string; errorText: string },
): {
  status: Extract<UploadStatus, 'completed' | 'partial' | 'failed'>;
  errorCode: string | null;
  errorText: string | null;
} {
  const { promotedRows, failedRows } = figures;
  if (promotedRows === 0) {
    const { errorCode, errorText } = failure ?? {
      errorCode: 'no_rows_promoted',
      errorText: `${uploadFailures.definitions.no_rows_promoted.title}: all ${failedRows} rows were refused.`,
    };
    return { status: 'failed', errorCode, errorText };
  }
  if (failure) return { status: 'partial', ...failure };
  if (failedRows === 0) return { status: 'completed', errorCode: null, errorText: null };
  const total = promotedRows + failedRows;
  return {
    status: 'partial',
    errorCode: 'rows_refused',
    errorText: `${failedRows} of ${total} rows were refused. Download and correct them, then upload them again.`,
  };
}

/** The rows that a broken-off promotion did not reach, and what was written of them. */
async function failRest(
  tx: Tx,
  upload: Upload,
  {
    checkpoint,
    failure,
  }: { checkpoint: UploadCheckpoint; failure: { errorCode: string; errorText: string } },
): Promise<void> {
  const { entityType: phase, afterRow } = checkpoint.promotion;
  const later = promotionPhases.slice(promotionPhases.indexOf(phase) + 1).filter(isEntityType);
  const entityType = isEntityType(phase) ? phase : null;
  await failUnpromoted(tx, upload, { entityType, afterRow, later, ...failure });
  if (dimensionsOf(upload).length > 0) await deleteFailedBreakdowns(tx, upload);
}

function isChecked({ plausibilityChecks }: EndDeps, check: PlausibilityCheck): boolean {
  return plausibilityChecks?.split(',').includes(check) ?? false;
}

/** Compares the account's days of this upload, as they are stored now, with those before its first day. */
async function unusualSpend(
  deps: EndDeps,
  tx: Tx,
  { upload, dates }: { upload: Upload; dates: string[] },
): Promise<Upload['warnings']> {
  const [first, last] = [dates[0], dates.at(-1)];
  const { plausibilityHistoryDays: historyDays = 0 } = deps;
  if (!isChecked(deps, 'spend_outlier') || first === undefined || last === undefined) return [];
  const from = dayAfter(first, -historyDays);
  const history = await listDaySpend(tx, upload, { from, before: first });
  // Most accounts of a first upload have none, and then its own days need not be added up.
  if (history.length === 0) return [];
  const stated = await listDaySpend(tx, upload, { from: first, before: dayAfter(last, 1) });
  const own = new Set(dates);
  return findUnusualSpend({ history, stated: stated.filter(({ day }) => own.has(day)) });
}

function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(day) + days * dayMs).toISOString().slice(0, 10);
}

async function deleteUnequal(tx: Tx, upload: Upload): Promise<number> {
  return (await hasBreakdowns(tx, upload)) ? deleteUnequalBreakdowns(tx, upload) : 0;
}

function replacedBreakdowns(count: number): Upload['warnings'] {
  if (count === 0) return [];
  const lines = count === 1 ? '1 line' : `${count} lines`;
  const message =
    `Breakdowns that no longer add up to the figures of their day or period were deleted (${lines}): another report ` +
    'states other figures. An undo does not bring them back; upload the report with the breakdown again.';
  return [{ code: 'breakdowns_replaced', message, count }];
}

const isEntityType = (phase: PromotionPhase): phase is Exclude<PromotionPhase, 'breakdown'> =>
  phase !== 'breakdown';

const dayMs = 86_400_000;
const maxShown = 3;

/** Days between the first and the last that the file says nothing about. */
function missingDays(dates: string[]): Upload['warnings'] {
  const [first, last] = [dates[0], dates.at(-1)];
  if (first === undefined || last === undefined) return [];
  const span = Math.round((Date.parse(last) - Date.parse(first)) / dayMs) + 1;
  const missing = span - dates.length;
  if (missing <= 0) return [];
  const known = new Set(dates);
  const shown: string[] = [];
  for (let at = Date.parse(first); shown.length < Math.min(missing, maxShown); at += dayMs) {
    const day = new Date(at).toISOString().slice(0, 10);
    if (!known.has(day)) shown.push(day);
  }
  const more = missing > maxShown ? ` and ${missing - maxShown} more` : '';
  const message = `The file has no figures for ${shown.join(', ')}${more}, between its first and its last day.`;
  return [{ code: 'days_missing', message, count: missing }];
}

function warningsOf({ warnings }: Upload, { promotion }: UploadCheckpoint): Upload['warnings'] {
  const { supersededRows = 0 } = promotion;
  if (supersededRows === 0) return warnings;
  const message =
    'Figures of these days were not stored: an upload that came later has stated them already, and its values stay.';
  return [...warnings, { code: 'superseded', message, count: supersededRows }];
}
