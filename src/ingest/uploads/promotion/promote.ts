import type { Job, Slice } from '../../../kernel/jobs/types.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { addFigures, subtractFigures } from '../reconciliation/stored-sums.ts';
import {
  checkpointOf,
  type PromotionPhase,
  promotionPhases,
  stateOf,
  type UploadCheckpoint,
} from '../staging/checkpoint.ts';
import { RetriesExhausted, type RetryOptions, withRetries } from '../staging/retries.ts';
import { isWorthStatistics, type Upload } from '../types.ts';
import { type BatchReport, runBatch } from './batch.ts';
import { dimensionsOf } from './facts-store.ts';
import { byHash } from './metrics-store.ts';
import { isRowError } from './refusals.ts';
import { analyzeEntities } from './store.ts';

export interface PromoteOptions {
  /** How far this slice has come. */
  checkpoint: UploadCheckpoint;
  /** How many staged rows one transaction promotes. */
  batchRows: number;
  /** The slice ends after the first batch that finishes past this time. */
  deadlineMs: number;
  retries: RetryOptions;
  /** For the log: what the database said about a row that it refused. */
  onRefused: (error: unknown, rowIndex: number) => void;
}

/** How facts are written: `insert` is faster and works only as long as production has none of them. */
export type FactWriting = 'insert' | 'upsert';

/**
 * How a batch is written. A batch starts with all rows at once; `nextApproach` says what follows a failure. `isolate`
 * finds bad rows by halving the batch; `give_up` marks every row as failed.
 */
export type Approach = { write: FactWriting | 'isolate'; needsParents: boolean } | { write: 'give_up' };

/** Promotes batch after batch, campaigns first and facts last. Returns true when nothing is left. */
export async function promoteBatches(
  slice: Slice,
  upload: Upload,
  options: PromoteOptions,
): Promise<boolean> {
  let { checkpoint } = options;
  // What stopped one batch will stop those after it too; every slice starts with `insert` again.
  let factWriting: FactWriting = 'insert';
  for (;;) {
    const batch = await promoteBatch(slice, upload, { ...options, checkpoint, factWriting });
    if (batch.next === null) return true;
    checkpoint = batch.next;
    factWriting = batch.factWriting;
    if (performance.now() >= options.deadlineMs || slice.shouldYield()) return false;
  }
}

async function promoteBatch(
  slice: Slice,
  upload: Upload,
  start: PromoteOptions & { factWriting: FactWriting },
): Promise<{ next: UploadCheckpoint | null; factWriting: FactWriting }> {
  let { factWriting } = start;
  let approach: Approach = { write: factWriting, needsParents: true };
  for (;;) {
    try {
      const { next, report } = await withRetries((failed) => {
        const mayHaveLostParents = failed.parent_in_flight > 0;
        return tryBatch(slice, upload, { ...start, approach, mayHaveLostParents });
      }, start.retries);
      return { next, factWriting: report?.areFactsKnown ? 'upsert' : factWriting };
    } catch (error) {
      approach = nextApproach(approach, error);
      if (approach.write === 'upsert') factWriting = 'upsert';
    }
  }
}

/** How to go on after a failure. Throws the error when nothing else can be tried. */
export function nextApproach(failed: Approach, error: unknown): Approach {
  if (failed.write === 'give_up') throw error;
  const { write, needsParents } = failed;
  if (error instanceof RetriesExhausted) {
    if (error.retryClass === 'deadlock') return { write: 'give_up' };
    if (error.retryClass !== 'parent_in_flight') throw error;
    if (needsParents) return { write, needsParents: false };
    if (write !== 'isolate') return { write: 'isolate', needsParents };
  } else if (isRowError(error)) {
    if (write === 'insert') return { write: 'upsert', needsParents };
    if (write === 'upsert') return { write: 'isolate', needsParents };
  }
  throw error;
}

export interface BatchTry extends Pick<PromoteOptions, 'batchRows' | 'onRefused'> {
  approach: Approach;
  /** A parent was missing in an earlier try: resolved parents may have been deleted since, by an undo. */
  mayHaveLostParents: boolean;
}

/** One transaction. `next` is the checkpoint after it, or null when nothing was left to do. */
async function tryBatch(
  slice: Slice,
  upload: Upload,
  { checkpoint, ...attempt }: BatchTry & { checkpoint: UploadCheckpoint },
): Promise<{ next: UploadCheckpoint | null; report: BatchReport | null }> {
  let next: UploadCheckpoint | null = null;
  let report: BatchReport | null = null;
  await slice.transaction(
    async (tx: Tx, job: Job) => {
      const current = checkpointOf(job.checkpoint);
      // An earlier COMMIT of this very batch took effect, but its response was lost.
      if (current.step > checkpoint.step) {
        next = current;
        return;
      }
      const { entityType: phase, afterRow } = current.promotion;
      report = await tx.as(
        'sluice_promote',
        (own) => runBatch(own, upload, { phase, afterRow, ...attempt }),
        isFactPhase(phase) ? byHash : {},
      );
      if (report.isEmpty && phase === 'ad' && isWorthStatistics(upload)) await analyzeEntities(tx);
      next = after(upload, current, report);
    },
    () => stateOf(next ?? checkpoint),
  );
  return { next, report };
}

const isFactPhase = (phase: PromotionPhase) => !['campaign', 'ad_set', 'ad'].includes(phase);

function after(upload: Upload, current: UploadCheckpoint, report: BatchReport): UploadCheckpoint | null {
  const { promotion } = current;
  const step = current.step + 1;
  if (!report.isEmpty) {
    return { ...current, step, promotion: { ...withSums(promotion, report), afterRow: report.lastRow } };
  }
  const following = phaseAfter(promotion.entityType, upload);
  if (following === undefined) return null;
  return { ...current, step, promotion: { ...promotion, entityType: following, afterRow: -1 } };
}

/** A report without dimensions has no breakdowns. */
function phaseAfter(phase: PromotionPhase, upload: Upload): PromotionPhase | undefined {
  const next = promotionPhases[promotionPhases.indexOf(phase) + 1];
  return next === 'breakdown' && dimensionsOf(upload).length === 0 ? 'daily_metric' : next;
}

function withSums(
  promotion: UploadCheckpoint['promotion'],
  { promoted, superseded, supersededRows, breakdowns }: BatchReport,
): UploadCheckpoint['promotion'] {
  const sums = { ...promotion };
  if (promoted !== null) sums.promoted = addFigures(promotion.promoted, promoted);
  if (superseded !== null) {
    sums.superseded = addFigures(promotion.superseded, subtractFigures(superseded, promoted));
    sums.supersededRows = (promotion.supersededRows ?? 0) + supersededRows;
  }
  if (breakdowns > 0) sums.breakdowns = (promotion.breakdowns ?? 0) + breakdowns;
  return sums;
}
