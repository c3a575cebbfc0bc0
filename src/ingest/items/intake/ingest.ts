import { setTimeout as sleep } from 'node:timers/promises';
import { recordRows } from '../../../kernel/files/service.ts';
import type { Files } from '../../../kernel/files/types.ts';
import type { Workbooks } from '../../../kernel/files/workbooks.ts';
import type { JobsDeps } from '../../../kernel/jobs/dispatch/service.ts';
import { insertHiddenJob, revealJob } from '../../../kernel/jobs/shared/shared-store.ts';
import { dispatchStatement } from '../../../kernel/jobs/store.ts';
import type { Job } from '../../../kernel/jobs/types.ts';
import type { BeforeCommit, Role } from '../../../kernel/tenancy/types.ts';
import { isSluiceError } from '../../../lib/errors.ts';
import { newId } from '../../../lib/ids.ts';
import type { Logger } from '../../../lib/log.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import type { RowNote } from '../../../lib/rows/notes.ts';
import type { ParsedRow } from '../../../lib/rows/types.ts';
import type { OpenWorkbook } from '../../../lib/rows/xlsx/workbook-readers.ts';
import type { ItemMetrics } from '../metrics.ts';
import { initialIngestState } from '../processing/controllers/ingest-batch.ts';
import type { Processor } from '../processing/processors/types.ts';
import { takeBack } from '../service.ts';
import { analyzeItems, endIngest, insertItemJob, insertItemsAtOnce } from '../store.ts';
import { type ItemBounds, type JobKey, type JobSource, pipelineName } from '../types.ts';
import { BatchWriter } from './batch-writer.ts';
import { type ChoiceDeps, chooseAtLast, chooseForRows, refuseEarly, type Wish } from './choose-processor.ts';
import type { ItemFields, ItemSource } from './form.ts';
import type { ItemRoom } from './item-room.ts';
import { openSource } from './job-source.ts';

export interface IngestDeps extends JobsDeps, ChoiceDeps {
  metrics: JobsDeps['metrics'];
  itemMetrics: ItemMetrics;
  bounds: ItemBounds;
  workerId: string;
  logger: Logger;
  room: ItemRoom;
  files: Files;
  workbooks: Workbooks;
  maxUploadBytes: number;
}

export interface NewItemJob extends ItemSource {
  tenantId: string;
  userId: string;
  role: Role;
  ipAddress: string | null;
  /** Aborts when nobody waits for the job any more; null for files that do not come with a request. */
  signal: AbortSignal | null;
}

/** A job with all its rows, which nobody sees before it is revealed. */
export interface WrittenJob {
  /** Of the whole request. */
  fields: ItemFields;
  /** What the reader of the file repaired. */
  notes: readonly RowNote[];
  /** `beforeCommit` runs in the transaction that makes the job visible. */
  reveal(beforeCommit?: BeforeCommit<Job>): Promise<Job>;
}

/** Reading all rows of a smaller job a few times costs next to nothing. */
const rowsWorthStatistics = 5_000;

/**
 * Streams a file into job_items. The rows commit in batches under a job that nobody sees; `finish` makes it visible.
 * A job that it does not reveal is removed again, and so is one of which anything failed. Upkeep removes what a dead
 * process leaves.
 */
export async function ingestFile<Result>(
  deps: IngestDeps,
  request: NewItemJob,
  finish: (written: WrittenJob) => Promise<Result>,
): Promise<Result> {
  const stop = deps.itemMetrics.ingestSeconds.startTimer();
  await refuseEarly(deps, wishOf(request));
  await deps.quotas.assertRoom(request.tenantId);
  await deps.room.assertRoom(request.tenantId);
  const openWorkbook = openerFor(deps, request);
  const source = await openSource({ ...deps, openWorkbook }, request);
  try {
    const processor = chooseForRows(deps, wishOf(request), source.jobType);
    return await ingestSource(deps, request, { opened: { source, processor }, finish });
  } catch (error) {
    // If the response to a commit was lost, rows may name these bytes: then they are removed with the rows.
    if (!isSluiceError(error) || error.code !== 'commit_unknown') await source.discard();
    throw error;
  } finally {
    await source.close();
    stop();
  }
}

function openerFor({ workbooks }: IngestDeps, { tenantId, signal }: NewItemJob): OpenWorkbook {
  return signal === null ? workbooks.forJob() : workbooks.forRequest({ tenantId, signal });
}

function wishOf({ tenantId, role, file, fields }: NewItemJob): Wish {
  return { ...fields(), tenantId, role, fileName: file.fileName };
}

interface Opened {
  source: JobSource;
  processor: Processor;
}

async function ingestSource<Result>(
  deps: IngestDeps,
  request: NewItemJob,
  { opened, finish }: { opened: Opened; finish: (written: WrittenJob) => Promise<Result> },
): Promise<Result> {
  const { bounds } = deps;
  const wanted = initialIngestState(bounds).rows;
  const first = await opened.source.read(wanted, bounds.ingestMaxBatchBytes);
  const key = { tenantId: request.tenantId, jobId: newId() };
  if (first === null || first.length >= wanted || opened.source.jobType === 'image') {
    return ingestInBatches(deps, request, { key, opened, batches: [first], finish });
  }
  const second = await opened.source.read(wanted, bounds.ingestMaxBatchBytes);
  if (second !== null) {
    return ingestInBatches(deps, request, { key, opened, batches: [first, second], finish });
  }
  request.signal?.throwIfAborted();
  return ingestAtOnce(deps, request, { key, opened, rows: first, finish });
}

type Finish<Result> = (written: WrittenJob) => Promise<Result>;

/** A file that has been read to its end already: nothing has to be hidden, and nothing is written twice. */
async function ingestAtOnce<Result>(
  deps: IngestDeps,
  request: NewItemJob,
  { key, opened, rows, finish }: { key: JobKey; opened: Opened; rows: ParsedRow[]; finish: Finish<Result> },
): Promise<Result> {
  const { tenantId, jobId } = key;
  const { userId, role: userRole } = request;
  const { jobType } = opened.source;
  const writer = new BatchWriter(deps, { key: { ...key, userId }, ...opened });
  const batch = await writer.prepare(rows);
  const { file, ...told } = await describeJob(deps, request, { opened, writer });
  if (!file) throw new Error('Only a file of rows is written at once, and it is measured');
  const insert = async (tx: Tx): Promise<Job> => {
    const job = await tx.find<Job>(
      dispatchStatement(tenantId, { ...newJob(key, request, opened.source), jobId }),
    );
    if (!job) throw new Error(`Job ${jobId} could not be inserted: its id is taken`);
    await insertItemsAtOnce(tx, { ...key, ...told, file, jobType, userId, userRole }, batch);
    return job;
  };
  return finish({
    fields: request.fields(),
    notes: told.notes,
    reveal: async (beforeCommit) => {
      const { job } = await writer.writeBy(rows, () =>
        deps.db.tenant(tenantId, async (tx) => {
          const made = await insert(tx);
          await beforeCommit?.(tx, made);
          tx.afterCommit(() => announce(deps, key, rows.length));
          return { job: made, ...tx.wait };
        }),
      );
      writer.logEnd(job);
      return job;
    },
  });
}

/** The job becomes visible when all batches are written. */
async function ingestInBatches<Result>(
  deps: IngestDeps,
  request: NewItemJob,
  ingest: { key: JobKey; opened: Opened; batches: (ParsedRow[] | null)[]; finish: Finish<Result> },
): Promise<Result> {
  const { key, opened, batches, finish } = ingest;
  let isRevealed = false;
  try {
    // Inside the try: its COMMIT may have succeeded although the response was lost.
    await openHidden(deps, request, { key, opened });
    const writer = await writeAll(deps, request, { key, opened, batches });
    request.signal?.throwIfAborted();
    const told = await describeJob(deps, request, { opened, writer });
    return await finish({
      fields: request.fields(),
      notes: told.notes,
      reveal: async (beforeCommit) => {
        const job = await reveal(deps, { key, told, writer, createdBy: request.userId }, beforeCommit);
        isRevealed = true;
        return job;
      },
    });
  } finally {
    if (!isRevealed) await takeBack(deps, key).catch(() => void takeBackLater(deps, key));
  }
}

const maxTakeBacks = 30;
const firstPauseMs = 500;
const longestPauseMs = 60_000;

/** The database is unavailable. Upkeep leaves ingests of live processes alone, so this process has to retry. */
async function takeBackLater({ db, files, logger }: IngestDeps, key: JobKey): Promise<void> {
  for (let attempt = 0; attempt < maxTakeBacks; attempt += 1) {
    await sleep(Math.min(longestPauseMs, firstPauseMs * 2 ** attempt), undefined, { ref: false });
    try {
      await takeBack({ db, files }, key);
      return;
    } catch (error) {
      const ids = { tenant_id: key.tenantId, job_id: key.jobId, correlation_id: key.jobId };
      const line = { ...ids, err: error, attempt };
      logger.warn(line, 'a failed ingest could not be removed yet');
    }
  }
}

/** An items job in the kernel's words. */
function newJob(
  { jobId }: JobKey,
  { userId, ipAddress }: Pick<NewItemJob, 'userId' | 'ipAddress'>,
  { file }: JobSource,
) {
  const owner = { createdBy: userId, userId, ipAddress, fileId: file?.fileId ?? null };
  return { pipeline: pipelineName, subjectId: jobId, maxRetries: 0, shared: true, ...owner };
}

async function openHidden(
  deps: IngestDeps,
  request: NewItemJob,
  { key, opened }: { key: JobKey; opened: Opened },
): Promise<void> {
  const { tenantId, jobId } = key;
  const { userId, role, file } = request;
  await deps.db.tenant(tenantId, async (tx) => {
    await insertHiddenJob(tx, tenantId, { ...newJob(key, request, opened.source), jobId });
    await insertItemJob(tx, {
      ...key,
      jobType: opened.source.jobType,
      processor: opened.processor.name,
      options: {},
      columns: [],
      fileId: opened.source.file?.fileId ?? null,
      fileName: file.fileName,
      userId,
      userRole: role,
      ingestingBy: deps.workerId,
    });
  });
}

async function writeAll(
  deps: IngestDeps,
  request: NewItemJob,
  { key, opened, batches }: { key: JobKey; opened: Opened; batches: (ParsedRow[] | null)[] },
): Promise<BatchWriter> {
  const { source } = opened;
  const writer = new BatchWriter(deps, { key: { ...key, userId: request.userId }, ...opened });
  const [first = null, ...read] = batches;
  let rows = first;
  while (rows !== null) {
    request.signal?.throwIfAborted();
    // The next rows are parsed while these are written; a failure of either is reported once both have ended.
    const [next, written] = await Promise.allSettled([
      read.shift() ?? source.read(writer.state.rows, deps.bounds.ingestMaxBatchBytes),
      writer.write(rows),
    ]);
    if (next.status === 'rejected') throw next.reason;
    if (written.status === 'rejected') throw written.reason;
    rows = next.value;
  }
  return writer;
}

type Told = Parameters<typeof endIngest>[2] & Pick<JobSource, 'file'>;

/** Once the whole request was read. */
async function describeJob(
  deps: IngestDeps,
  request: NewItemJob,
  { opened, writer }: { opened: Opened; writer: BatchWriter },
): Promise<Told> {
  const { jobType } = opened.source;
  const { processor, options } = await chooseAtLast(deps, wishOf(request), { ...opened, jobType });
  const fileName = opened.source.describe();
  const controllers = { ingest: writer.describe() };
  const { columns: named, notes = [], mapping = null, file } = opened.source;
  const columns = [...new Set([...writer.columns, ...(named ?? [])])];
  return {
    ...{ columns, fileName, processor: processor.name, options, controllers, notes, mapping },
    ...(file && { file }),
  };
}

async function reveal(
  deps: IngestDeps,
  { key, told, writer, createdBy }: { key: JobKey; told: Told; writer: BatchWriter; createdBy: string },
  beforeCommit: BeforeCommit<Job> | undefined,
): Promise<Job> {
  if (writer.rows >= rowsWorthStatistics) await deps.db.tenant(key.tenantId, analyzeItems);
  const revealed = await deps.db.tenant(key.tenantId, async (tx) => {
    await endIngest(tx, key, told);
    if (told.file) {
      await recordRows(tx, { tenantId: key.tenantId, ...told.file, name: told.fileName ?? '', createdBy });
    }
    const job = await revealJob(tx, key);
    // Upkeep removed it as abandoned: this process must have looked dead for minutes.
    if (!job) throw new Error(`The ingest of job ${key.jobId} was removed in the meantime`);
    await beforeCommit?.(tx, job);
    tx.afterCommit(() => announce(deps, key, writer.rows));
    return job;
  });
  writer.logEnd(revealed);
  return revealed;
}

function announce({ wake, metrics, room }: IngestDeps, { tenantId }: JobKey, rows: number): void {
  room.taken(tenantId, rows);
  wake.announce('jobs', 'events');
  metrics.jobsQueued.inc({ pipeline: pipelineName });
}
