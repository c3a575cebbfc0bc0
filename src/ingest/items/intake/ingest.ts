import { setTimeout as sleep } from 'node:timers/promises';
import type { Files } from '../../../kernel/files/types.ts';
import type { JobsDeps } from '../../../kernel/jobs/service.ts';
import { insertHiddenJob, revealJob } from '../../../kernel/jobs/shared-store.ts';
import type { Job } from '../../../kernel/jobs/types.ts';
import { isSluiceError } from '../../../lib/errors.ts';
import { newId } from '../../../lib/ids.ts';
import type { Logger } from '../../../lib/log.ts';
import type { ConnectionWait, Tx } from '../../../lib/postgres/db.ts';
import type { ParsedRow } from '../../../lib/rows/types.ts';
import { itemErrors } from '../errors.ts';
import { resultKeysOf } from '../export/rows.ts';
import { recordImages } from '../images/item-images.ts';
import type { ItemMetrics } from '../metrics.ts';
import {
  type IngestBounds,
  type IngestState,
  initialIngestState,
  nextIngestState,
} from '../processing/controllers/ingest-batch.ts';
import type { Processor } from '../processing/processors/types.ts';
import { takeBack } from '../service.ts';
import {
  analyzeItems,
  endIngest,
  insertItemJob,
  insertItems,
  readItemRoom,
  saveControllers,
} from '../store.ts';
import { type ItemBounds, type JobKey, pipelineName } from '../types.ts';
import { normalizerOf, type RowNormalizing } from '../values/normalized.ts';
import { type ChoiceDeps, chooseAtLast, chooseForRows, refuseEarly, type Wish } from './choose-processor.ts';
import { IngestTrace } from './ingest-trace.ts';
import { imagesIn, type JobSource, openSource, type SourceRequest } from './job-source.ts';

export interface IngestDeps extends JobsDeps, ChoiceDeps {
  metrics: JobsDeps['metrics'];
  itemMetrics: ItemMetrics;
  bounds: ItemBounds;
  workerId: string;
  logger: Logger;
  maxOpenItems: number;
  files: Files;
  maxUploadBytes: number;
}

export interface NewItemJob extends SourceRequest, Wish {
  userId: string;
  ipAddress: string | null;
  /** Runs when the whole file was read, before anything shows; what it throws takes the ingest back. */
  beforeReveal?: () => Promise<void>;
  /** Runs in the transaction that makes the job visible. */
  beforeCommit?: (tx: Tx, job: Job) => Promise<void>;
}

const maxInsertTries = 5;
const maxColumns = 5_000;
/** Of a smaller job all rows can be read for nothing a few times. */
const rowsWorthStatistics = 5_000;

/**
 * Streams a file into job_items. The rows commit in batches under a job that nobody sees; the last transaction makes
 * it visible. Whatever goes wrong before takes all of it away again; what a dead process leaves, upkeep takes away.
 */
export async function ingestFile(deps: IngestDeps, request: NewItemJob): Promise<Job> {
  const stop = deps.itemMetrics.ingestSeconds.startTimer();
  await refuseEarly(deps, request);
  await deps.quotas.assertRoom(request.tenantId);
  await assertItemRoom(deps, request.tenantId);
  const source = await openSource(deps, request);
  try {
    const processor = chooseForRows(deps, request, source.jobType);
    return await ingestSource(deps, request, { source, processor });
  } catch (error) {
    // A commit whose answer was lost may have named them: then they go with the rows that it wrote.
    if (!isSluiceError(error) || error.code !== 'commit_unknown') await source.discard();
    throw error;
  } finally {
    await source.close();
    stop();
  }
}

interface Opened {
  source: JobSource;
  processor: Processor;
}

async function ingestSource(deps: IngestDeps, request: NewItemJob, opened: Opened): Promise<Job> {
  const bounds = ingestBounds(deps.bounds);
  const first = await opened.source.read(initialIngestState(bounds).rows, bounds.maxBatchBytes);
  const key = { tenantId: request.tenantId, jobId: newId() };
  try {
    // Inside: its COMMIT may have got through although its answer did not.
    await openHidden(deps, request, { key, opened });
    return await writeAll(deps, request, { key, opened, first });
  } catch (error) {
    await takeBack(deps, key).catch(() => void takeBackLater(deps, key));
    throw error;
  }
}

const maxTakeBacks = 30;
const firstPauseMs = 500;
const longestPauseMs = 60_000;

/** The database is away. Upkeep leaves the ingests of living processes alone, so this one has to come back to it. */
async function takeBackLater({ db, files, logger }: IngestDeps, key: JobKey): Promise<void> {
  for (let attempt = 0; attempt < maxTakeBacks; attempt += 1) {
    await sleep(Math.min(longestPauseMs, firstPauseMs * 2 ** attempt), undefined, { ref: false });
    try {
      await takeBack({ db, files }, key);
      return;
    } catch (error) {
      const line = { err: error, tenant_id: key.tenantId, job_id: key.jobId, attempt };
      logger.warn(line, 'a broken ingest could not be taken back yet');
    }
  }
}

const retryAfterSeconds = 60;

/** Backpressure: a tenant with too many open rows is told to come back later, before its file is read. */
async function assertItemRoom({ db, maxOpenItems }: IngestDeps, tenantId: string): Promise<void> {
  const { open, limit } = await db.tenant(tenantId, (tx) => readItemRoom(tx, { tenantId, maxOpenItems }));
  if (open < limit) return;
  throw itemErrors.raise.items_quota_exceeded(
    `The tenant has ${open} open rows, and may have ${limit}; come back in ${retryAfterSeconds} s`,
    { retryAfterSeconds, details: { open, limit } },
  );
}

async function openHidden(
  deps: IngestDeps,
  request: NewItemJob,
  { key, opened }: { key: JobKey; opened: Opened },
): Promise<void> {
  const { tenantId, jobId } = key;
  const { userId, ipAddress, fileName } = request;
  await deps.db.tenant(tenantId, async (tx) => {
    await insertHiddenJob(tx, tenantId, {
      jobId,
      pipeline: pipelineName,
      subjectId: jobId,
      maxRetries: 0,
      shared: true,
      createdBy: userId,
      userId,
      ipAddress,
    });
    await insertItemJob(tx, {
      ...key,
      jobType: opened.source.jobType,
      processor: opened.processor.name,
      options: {},
      columns: [],
      fileId: null,
      fileName,
      userId,
      ingestingBy: deps.workerId,
    });
  });
}

async function writeAll(
  deps: IngestDeps,
  request: NewItemJob,
  { key, opened, first }: { key: JobKey; opened: Opened; first: ParsedRow[] | null },
): Promise<Job> {
  const { source } = opened;
  const normalizer = normalizerOf(opened.processor, source.columns);
  const writer = new BatchWriter(deps, { key: { ...key, userId: request.userId }, normalizer, source });
  const columns = new Set(source.columns ?? []);
  let rows = first;
  while (rows !== null) {
    if (source.columns === null) collectColumns(columns, rows);
    const written = writer.write(rows);
    // The next rows are parsed while these are written; a failure of either is reported once both have ended.
    const next = await Promise.allSettled([
      source.read(writer.state.rows, deps.bounds.ingestMaxBatchBytes),
      written,
    ]);
    for (const part of next) if (part.status === 'rejected') throw part.reason;
    rows = next[0].status === 'fulfilled' ? next[0].value : null;
  }
  const chosen = await chooseAtLast(deps, request, { ...opened, jobType: source.jobType });
  await request.beforeReveal?.();
  if (writer.rows >= rowsWorthStatistics) await deps.db.tenant(key.tenantId, analyzeItems);
  const described = { columns: [...columns], fileName: source.describe() };
  const told = { ...described, processor: chosen.processor.name, options: chosen.options };
  const job = await reveal(deps, request, { key, told, ingest: writer.describe() });
  writer.logEnd(job);
  return job;
}

async function reveal(
  deps: IngestDeps,
  request: NewItemJob,
  { key, told, ingest }: { key: JobKey; told: Parameters<typeof endIngest>[2]; ingest: object },
): Promise<Job> {
  return deps.db.tenant(key.tenantId, async (tx) => {
    await endIngest(tx, key, told);
    await saveControllers(tx, key, { ingest });
    const job = await revealJob(tx, key);
    // Upkeep took it for left behind: this process must have looked dead for minutes.
    if (!job) throw new Error(`The ingest of job ${key.jobId} was given up meanwhile`);
    await request.beforeCommit?.(tx, job);
    tx.afterCommit(() => {
      deps.wake.announce('jobs', 'events');
      deps.metrics.jobsQueued.inc({ pipeline: pipelineName });
    });
    return job;
  });
}

/** Writes batches of the size that the database bears, and learns from each how large the next should be. */
class BatchWriter {
  readonly #deps: IngestDeps;
  readonly #key: JobKey & { userId: string };
  readonly #bounds: IngestBounds;
  readonly #normalizer: RowNormalizing;
  readonly #source: JobSource;
  readonly #startedAtMs = performance.now();
  readonly #written = { rows: 0, batches: 0, failed: 0, waitMs: 0 };
  readonly #trace = new IngestTrace();
  #state: IngestState;

  constructor(
    deps: IngestDeps,
    {
      key,
      normalizer,
      source,
    }: { key: JobKey & { userId: string }; normalizer: RowNormalizing; source: JobSource },
  ) {
    this.#deps = deps;
    this.#key = key;
    this.#normalizer = normalizer;
    this.#source = source;
    this.#bounds = ingestBounds(deps.bounds);
    this.#state = initialIngestState(this.#bounds);
  }

  get state(): IngestState {
    return this.#state;
  }

  get rows(): number {
    return this.#written.rows;
  }

  /** What people see of the controller once the file is in. */
  describe(): object {
    const { rows, reason, latencyEwmaMs, bytesPerRow } = this.#state;
    const round = (value: number | null) => (value === null ? null : Math.round(value * 10) / 10);
    return {
      rows,
      reason,
      latencyEwmaMs: round(latencyEwmaMs),
      targetMs: this.#bounds.p50Ms,
      bytesPerRow: round(bytesPerRow),
      history: this.#trace.points,
    };
  }

  async write(rows: readonly ParsedRow[]): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const startedAtMs = performance.now();
      try {
        const { totalMs, queuedMs } = await this.#insert(rows);
        this.#source.written(rows);
        // The wait is a signal of its own: a full pool is no slow database.
        const latencyMs = Math.max(0, performance.now() - startedAtMs - totalMs);
        this.#learn(rows, { latencyMs, poolWaitMs: queuedMs });
        this.#deps.itemMetrics.inserted(latencyMs);
        return;
      } catch (error) {
        this.#learn(rows, { latencyMs: performance.now() - startedAtMs, poolWaitMs: 0, failed: true });
        if (!isWorthARetry(error) || attempt === maxInsertTries) throw error;
        this.#logFailure(error, attempt);
        await sleep(this.#state.delayMs);
      }
    }
  }

  logEnd(job: Job): void {
    const { latencyEwmaMs, rows, reason } = this.#state;
    const tookMs = Math.round(performance.now() - this.#startedAtMs);
    const next = { rows, reason, latencyEwmaMs };
    this.#deps.logger.info(
      { ...this.#ids(), correlation_id: job.correlationId, ...this.#written, tookMs, batch: next },
      'a file was taken in',
    );
  }

  async #insert(rows: readonly ParsedRow[]): Promise<ConnectionWait> {
    const { tenantId } = this.#key;
    const firstRowNo = rows[0]?.rowNo ?? 1;
    const inputs = rows.map((row) => row.inputJson);
    const each = inputs.map((input) => this.#normalizer.normalize(input));
    const normalized = each.some((text) => text !== null) ? each : null;
    const images = imagesIn(rows);
    const { jobType } = this.#source;
    return this.#deps.db.tenant(tenantId, async (tx) => {
      await insertItems(tx, { ...this.#key, jobType, firstRowNo, inputs, normalized });
      if (images.length > 0) await recordImages(tx, { files: this.#deps.files, key: this.#key, images });
      return tx.wait;
    });
  }

  #learn(
    rows: readonly ParsedRow[],
    seen: { latencyMs: number; poolWaitMs: number; failed?: boolean },
  ): void {
    const bytes = rows.reduce((sum, row) => sum + row.sizeBytes, 0);
    const before = this.#state.rows;
    this.#state = nextIngestState(this.#state, { rows: rows.length, bytes, ...seen }, this.#bounds);
    this.#trace.add(performance.now() - this.#startedAtMs, { rows: before, latencyMs: seen.latencyMs });
    this.#written.batches += 1;
    this.#written.waitMs += Math.round(seen.poolWaitMs);
    if (seen.failed) this.#written.failed += 1;
    else this.#written.rows += rows.length;
    const { rows: next, reason } = this.#state;
    this.#deps.logger.debug(
      { ...this.#ids(), rows: rows.length, before, next, reason, ...seen },
      'a batch of rows',
    );
  }

  #logFailure(error: unknown, attempt: number): void {
    const { delayMs, rows, reason } = this.#state;
    const line = { ...this.#ids(), err: error, attempt, delayMs, rows, reason };
    this.#deps.logger.warn(line, 'an insert of rows failed and is tried again');
  }

  #ids() {
    return { tenant_id: this.#key.tenantId, job_id: this.#key.jobId };
  }
}

/** A lost COMMIT may have written the rows: trying again would double them, so the whole ingest is taken back. */
function isWorthARetry(error: unknown): boolean {
  return (
    isSluiceError(error) && ['database_unavailable', 'write_conflict', 'query_timeout'].includes(error.code)
  );
}

function collectColumns(columns: Set<string>, rows: readonly ParsedRow[]): void {
  if (columns.size >= maxColumns) return;
  for (const { inputJson } of rows) for (const key of resultKeysOf(inputJson)) columns.add(key);
}

function ingestBounds(bounds: ItemBounds): IngestBounds {
  return {
    minRows: bounds.ingestMinRows,
    maxRows: bounds.ingestMaxRows,
    maxBatchBytes: bounds.ingestMaxBatchBytes,
    p50Ms: bounds.dbP50Ms,
    p95Ms: bounds.dbP95Ms,
  };
}
