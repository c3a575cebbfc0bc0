import type { Ground } from '../../kernel/house/house.ts';
import { decideRetry } from '../../kernel/jobs/run/retry.ts';
import type { Job, Outcome, Slice, SliceResult } from '../../kernel/jobs/types.ts';
import type { WakeUp } from '../../kernel/jobs/wake-up.ts';
import { isSluiceError, type SluiceError } from '../../lib/errors.ts';
import type { DatabaseRole, Tx } from '../../lib/postgres/db.ts';
import { correctedCells } from './corrections/corrected-rows.ts';
import { listCorrections } from './corrections/correction-store.ts';
import { maxCorrections } from './corrections/types.ts';
import { uploadErrors, uploadFailures } from './errors.ts';
import { recordMove } from './events.ts';
import type { UploadMetrics } from './metrics.ts';
import { definitionOfUpload } from './platforms/service.ts';
import { endPromotion } from './promotion/end-promotion.ts';
import { promoteBatches } from './promotion/promote.ts';
import { profileOf } from './reports/profile.ts';
import { failUpload } from './service.ts';
import { checkpointOf, stateOf, type UploadCheckpoint } from './staging/checkpoint.ts';
import { holdUnmapped, type ParseReport, parseFile } from './staging/parse.ts';
import {
  RetriesExhausted,
  type RetryClass,
  type RetryOptions,
  uploadRetries,
  type Wait,
  withRetries,
} from './staging/retries.ts';
import { saveParsed } from './staging/save-parsed.ts';
import { releaseSlot } from './staging/slots.ts';
import { noFigures } from './staging/staging.ts';
import { analyzeStaging, deleteStagingOf } from './staging/store.ts';
import { openStored } from './staging/stored-file.ts';
import { verdictOn } from './staging/threshold.ts';
import { findUpload, moveUpload, saveParseFigures, takeSlot } from './store.ts';
import { isBeingChecked, isFinished, isWorthStatistics, type Upload, type UploadStatus } from './types.ts';

export interface UploadWorkerDeps extends Pick<Ground, 'db' | 'files' | 'logger'> {
  wake: WakeUp;
  metrics: UploadMetrics;
  /** After this time a slice ends at the next batch. */
  sliceMs: number;
  /** How many lines one transaction stages; a default applies when it is not given. */
  linesPerBatch?: number | undefined;
  /** How many staged rows one transaction promotes. */
  promotionBatchRows: number;
  /** Codes of the plausibility warnings, separated by commas. */
  plausibilityChecks: string;
  plausibilityHistoryDays: number;
  wait?: Wait;
}

const slotWaitMs = 2_000;
/** A decision wakes the job; this is only how often it checks by itself. */
const reviewWaitMs = 10 * 60_000;

/** Advances an upload by one slice, through as many states as time allows. */
export async function advanceUpload(deps: UploadWorkerDeps, slice: Slice): Promise<SliceResult> {
  const run = new UploadRun(deps, slice);
  try {
    return await run.advance();
  } catch (error) {
    slice.signal.throwIfAborted();
    // An unavailable storage says nothing about the upload, which waits for it.
    if (isSluiceError(error) && error.code === 'files_unavailable') throw error;
    return await run.fail(error);
  }
}

class UploadRun {
  readonly #deps: UploadWorkerDeps;
  readonly #slice: Slice;
  readonly #deadlineMs: number;
  readonly #retries: RetryOptions;
  #checkpoint: UploadCheckpoint;
  #correctedCells = 0;

  constructor(deps: UploadWorkerDeps, slice: Slice) {
    this.#deps = deps;
    this.#slice = slice;
    this.#deadlineMs = performance.now() + deps.sliceMs;
    this.#retries = { signal: slice.signal, onRetry: this.#onRetry, wait: deps.wait };
    this.#checkpoint = checkpointOf(slice.job.checkpoint);
  }

  async advance(): Promise<SliceResult> {
    for (;;) {
      const result = await withRetries(() => this.#advanceOnce(), this.#retries);
      if (result) return result;
      if (performance.now() >= this.#deadlineMs || this.#slice.shouldYield()) return continueLater;
    }
  }

  /** Starts from what the database says: a try whose connection broke may have committed. */
  async #advanceOnce(): Promise<SliceResult | null> {
    const upload = await this.#read();
    return isFinished(upload.status) ? this.#finish(upload) : this.#step(upload);
  }

  /** Processes one state of the upload. Returns null when it has moved on to the next. */
  #step(upload: Upload): Promise<SliceResult | null> {
    switch (upload.status) {
      case 'pending':
        return this.#begin(upload);
      case 'processing':
        return this.#parse(upload);
      case 'staging_complete':
        return this.#decide(upload);
      default:
        return this.#promote(upload);
    }
  }

  async #read(): Promise<Upload> {
    const { tenantId, subjectId } = this.#slice.job;
    const upload = await this.#slice.transaction((tx, job) => {
      this.#checkpoint = checkpointOf(job.checkpoint);
      return findUpload(tx, { tenantId, uploadId: subjectId });
    });
    if (!upload) throw new Error(`Upload ${subjectId} of job ${this.#slice.job.jobId} does not exist`);
    return upload;
  }

  async #begin(upload: Upload): Promise<SliceResult | null> {
    const hasSlot = await this.#slice.transaction(async (tx) => {
      if (!(await takeSlot(tx, upload))) return false;
      return this.#move(tx, upload, 'processing', 'sluice_parse');
    });
    return hasSlot ? null : noSlot;
  }

  async #parse(upload: Upload): Promise<SliceResult | null> {
    const { checkpoint, layout, blockers } = await this.#parseFile(upload).catch(async (error: unknown) =>
      holdUnmapped(error, upload, {
        checkpoint: this.#checkpoint,
        profile: profileOf(await definitionOfUpload(this.#deps.db, upload)),
      }),
    );
    if (!checkpoint.isParsed) return continueLater;
    const { totalRows, validRows, invalidRows } = checkpoint.figures;
    await this.#slice.transaction(async (tx) => {
      if (isWorthStatistics({ validRows })) await analyzeStaging(tx);
      await tx.as(
        'sluice_parse',
        (own) =>
          saveParsed(own, upload, { checkpoint, layout, blockers, correctedCells: this.#correctedCells }),
        inMemory,
      );
      const data = { total_rows: totalRows, valid_rows: validRows, invalid_rows: invalidRows };
      if (upload.status === 'processing') {
        await this.#move(tx, upload, 'staging_complete', 'sluice_parse', data);
      } else if (upload.review) {
        await recordMove(this.#deps, tx, upload, 'checked', data);
      }
    });
    this.#deps.metrics.parsed(upload.platform, checkpoint.figures);
    return null;
  }

  async #parseFile(upload: Upload): Promise<ParseReport> {
    const open = await openStored(this.#deps, upload);
    const corrections = await this.#slice.transaction((tx) =>
      listCorrections(tx, { ...upload, limit: maxCorrections }),
    );
    this.#correctedCells = corrections.length;
    const definition = await definitionOfUpload(this.#deps.db, upload);
    const report = await parseFile(this.#slice, upload, {
      checkpoint: this.#checkpoint,
      profile: profileOf(definition),
      open,
      corrected: correctedCells(corrections),
      plausibility: { checks: this.#deps.plausibilityChecks.split(','), today: lastDayOnEarth() },
      linesPerBatch: this.#deps.linesPerBatch,
      deadlineMs: this.#deadlineMs,
      retries: this.#retries,
    });
    this.#checkpoint = report.checkpoint;
    return report;
  }

  async #decide(upload: Upload): Promise<SliceResult | null> {
    if (upload.review && !isBeingChecked(upload)) return this.#hold(upload);
    const isOutdated = upload.mappingVersion !== this.#checkpoint.mappingVersion;
    // An upload under review is never promoted from here, however far an interrupted parse had come.
    if (isOutdated || !this.#checkpoint.isParsed || upload.review) {
      // It gave up its slot when it was held, and parsing needs one.
      if (!(await this.#slice.transaction((tx) => takeSlot(tx, upload)))) return noSlot;
      return isOutdated ? this.#stageAgain(upload) : this.#parse(upload);
    }
    const { figures } = this.#checkpoint;
    const verdict = verdictOn(figures, upload);
    if (verdict) throw verdict;
    const hasSlot = await this.#slice.transaction(async (tx) => {
      if (!(await takeSlot(tx, upload))) return false;
      return this.#move(tx, upload, 'promoting', 'sluice_promote');
    });
    return hasSlot ? null : noSlot;
  }

  /** Frees the slot while a person reviews the upload. */
  async #hold(upload: Upload): Promise<SliceResult> {
    await this.#slice.transaction((tx) => releaseSlot(this.#deps, tx, upload));
    // A decision wakes the job, but not while this slice is still ending. So the job never waits longer than the upload
    // has already waited.
    const lyingMs = Date.now() - upload.updatedAt.getTime();
    const delayMs = Math.min(Math.max(lyingMs, slotWaitMs), reviewWaitMs);
    return { outcome: { type: 'wait', delayMs } };
  }

  /** Deletes what was staged with the previous mapping and reads the file from the beginning. */
  async #stageAgain(upload: Upload): Promise<SliceResult | null> {
    const { mappingVersion } = upload;
    const next: UploadCheckpoint = {
      ...this.#checkpoint,
      resume: null,
      isParsed: false,
      figures: noFigures,
      conventions: null,
      kinds: {},
      range: null,
      lookedUpTo: null,
      step: this.#checkpoint.step + 1,
    };
    for (;;) {
      const left = await this.#slice.transaction(
        (tx) => tx.as('sluice_cleanup', (own) => deleteStagingOf(own, upload, cleanupBatch)),
        stateOf(next),
      );
      if (left === 0) break;
    }
    this.#checkpoint = { ...next, mappingVersion, step: next.step + 1 };
    await this.#slice.transaction(async () => {}, stateOf(this.#checkpoint));
    return this.#parse(upload);
  }

  async #promote(upload: Upload): Promise<SliceResult | null> {
    const isDone = await promoteBatches(this.#slice, upload, {
      checkpoint: this.#checkpoint,
      batchRows: this.#deps.promotionBatchRows,
      deadlineMs: this.#deadlineMs,
      retries: this.#retries,
      onRefused: (error, rowIndex) => {
        const { jobId } = this.#slice.job;
        this.#deps.logger.warn(
          { err: error, job_id: jobId, row_index: rowIndex },
          'the database refused a row',
        );
      },
    });
    if (!isDone) return continueLater;
    await this.#slice.transaction(async (tx, job) => {
      await endPromotion(this.#deps, tx, upload, checkpointOf(job.checkpoint));
      await releaseSlot(this.#deps, tx, upload);
    });
    return null;
  }

  /** Moves the upload under a role of its own; the event is written under the kernel's role. */
  async #move(
    tx: Tx,
    upload: Upload,
    to: UploadStatus,
    role: DatabaseRole,
    data: Record<string, unknown> = {},
  ): Promise<boolean> {
    const moved = await tx.as(role, (own) => moveUpload(own, upload, to));
    if (moved) await recordMove(this.#deps, tx, upload, to, data);
    return moved;
  }

  #finish(upload: Upload): SliceResult {
    const effects = (tx: Tx) => {
      tx.afterCommit(() => this.#deps.metrics.ended(upload.platform, upload.status));
      return releaseSlot(this.#deps, tx, upload);
    };
    if (upload.status !== 'failed') {
      return { outcome: { type: 'done', result: { upload_status: upload.status } }, effects };
    }
    const code = upload.errorCode ?? 'upload_failed';
    return { outcome: dead({ code, message: upload.errorText ?? 'The upload failed' }), effects };
  }

  readonly #onRetry = (retryClass: RetryClass, error: unknown): void => {
    this.#deps.metrics.retries.inc({ class: retryClass });
    const { jobId } = this.#slice.job;
    this.#deps.logger.warn({ err: error, job_id: jobId, class: retryClass }, 'an upload is retried');
  };

  /** Retries later when the storage is busy; otherwise fails the upload. */
  async fail(error: unknown): Promise<SliceResult> {
    const reason = reasonOf(error);
    const { job } = this.#slice;
    this.#deps.logger.warn({ err: error, job_id: job.jobId, code: reason.code }, 'an upload failed');
    if (reason.code === 'storage_busy') {
      const decision = decideRetry(uploadRetries.rate_limit, job.retryCount);
      const failure = { code: reason.code, message: reason.message, class: 'rate_limit' };
      if (decision.retry) return { outcome: { type: 'retry', failure, delayMs: decision.delayMs } };
    }
    const upload = await this.#read();
    if (!isFinished(upload.status)) {
      await this.#slice.transaction((tx, fresh) => this.#recordFailure(tx, { upload, reason, fresh }));
    }
    return this.#finish(await this.#read());
  }

  async #recordFailure(
    tx: Tx,
    { upload, reason, fresh }: { upload: Upload; reason: SluiceError; fresh: Job },
  ): Promise<void> {
    const details = { errorCode: reason.code, errorText: reason.message };
    if (upload.status === 'promoting') {
      await endPromotion(this.#deps, tx, upload, checkpointOf(fresh.checkpoint), details);
      return;
    }
    const { totalRows, validRows, invalidRows, warnings } = checkpointOf(fresh.checkpoint).figures;
    await tx.as('sluice_parse', (own) =>
      saveParseFigures(own, upload, { totalRows, validRows, invalidRows, warnings, layout: null }),
    );
    await failUpload(this.#deps, tx, upload, { ...details, role: 'sluice_parse' });
  }
}

/** The day that it is where days begin first: a report's days are those of its account, wherever that is. */
function lastDayOnEarth(): string {
  return new Date(Date.now() + 14 * 3_600_000).toISOString().slice(0, 10);
}

const cleanupBatch = 10_000;
const continueLater: SliceResult = { outcome: { type: 'continue' } };
const noSlot: SliceResult = { outcome: { type: 'wait', delayMs: slotWaitMs } };

function dead({ code, message }: { code: string; message: string }): Outcome {
  return { type: 'dead', failure: { code, message, class: 'upload' } };
}

/**
 * For statements over all lines of a file: with the default of 4 MB they would spill to disk, and without statistics on
 * what was just staged, the planner would look up each line by itself.
 */
const inMemory = { work_mem: '64MB', enable_nestloop: 'off', jit: 'off' };

/** Every failure gets a code and a sentence that tells a person what to do. */
function reasonOf(error: unknown): SluiceError {
  if (error instanceof RetriesExhausted) {
    return uploadFailures.raise.database_lost(
      'The database failed too often while the upload was processed. Upload the file again once it is well.',
      { cause: error },
    );
  }
  if (isSluiceError(error)) {
    if (error.kind === 'rate_limited')
      return uploadFailures.raise.storage_busy(error.message, { cause: error });
    return error;
  }
  if ((error as { code?: unknown }).code === '42501') {
    return uploadFailures.raise.database_refused(
      'The database refused to write: a role of this server lacks a right. Tell its operator.',
      { cause: error },
    );
  }
  throw error;
}

/** Slices of a canceled upload delete its staged rows. */
export async function cleanUpCanceled(deps: UploadWorkerDeps, slice: Slice): Promise<SliceResult> {
  const { tenantId, subjectId: uploadId } = slice.job;
  const removed = await slice.transaction(async (tx) => {
    const upload = await findUpload(tx, { tenantId, uploadId });
    if (upload) await releaseSlot(deps, tx, upload);
    return tx.as('sluice_cleanup', (own) => deleteStagingOf(own, { tenantId, uploadId }, cleanupBatch));
  });
  return { outcome: removed === 0 ? { type: 'done' } : { type: 'continue' } };
}

/** Runs in the transaction that cancels the job. Throws when the upload is being promoted already. */
export async function cancelUpload(deps: { wake: WakeUp }, tx: Tx, job: Job): Promise<void> {
  const { tenantId, subjectId: uploadId } = job;
  const upload = await findUpload(tx, { tenantId, uploadId });
  if (!upload || isFinished(upload.status)) return;
  const errorText = uploadFailures.definitions.canceled_by_user.title;
  const isCanceled =
    upload.status !== 'promoting' &&
    (await failUpload(deps, tx, upload, { errorCode: 'canceled_by_user', errorText }));
  if (!isCanceled) throw cannotCancel(upload);
}

function cannotCancel({ uploadId }: Upload): Error {
  return uploadErrors.raise.upload_promoting(
    `Upload ${uploadId} is being promoted: some rows are in production already`,
  );
}
