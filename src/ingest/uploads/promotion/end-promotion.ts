import type { WakeUp } from '../../../kernel/jobs/wake-up.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { uploadFailures } from '../errors.ts';
import { recordIngestionComplete, recordMove } from '../events.ts';
import { rememberMapping } from '../intake/mapping-store.ts';
import type { UploadMetrics } from '../metrics.ts';
import { entityTypes } from '../reports/types.ts';
import type { UploadCheckpoint } from '../staging/checkpoint.ts';
import type { Upload, UploadStatus } from '../types.ts';
import { failUnpromoted, finishPromotion, type PromotionFigures, readPromotionFigures } from './end-store.ts';
import { withRepeatedFacts } from './repeated-facts.ts';

/** With the default of 4 MB, counting the distinct keys of a large file would spill to disk. */
const inMemory = { work_mem: '64MB' };

interface EndDeps {
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
  const figures = await tx.as(
    'sluice_promote',
    async (own) => {
      if (failure) {
        const { entityType } = checkpoint.promotion;
        const later = entityTypes.slice(entityTypes.indexOf(entityType) + 1);
        await failUnpromoted(own, upload, { ...checkpoint.promotion, later, ...failure });
      }
      return readPromotionFigures(own, upload);
    },
    inMemory,
  );
  const end = { ...figures, ...endOf(figures, failure), warnings: warningsOf(upload, checkpoint, figures) };
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
    await recordIngestionComplete(deps, tx, upload, { ...figures, status });
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

function warningsOf(
  { warnings, layout }: Upload,
  { promotion }: UploadCheckpoint,
  { replacedRows }: PromotionFigures,
): Upload['warnings'] {
  const others = warnings.filter(({ code }) => !promotion.warnings.some((one) => one.code === code));
  return withRepeatedFacts([...others, ...promotion.warnings], { replacedRows, layout });
}
