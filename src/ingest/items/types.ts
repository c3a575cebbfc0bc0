import type { ParsedRow } from '../../lib/rows/types.ts';

export const itemStatuses = ['PENDING', 'PROCESSING', 'DONE', 'ERROR', 'NOT_FOUND', 'SKIPPED'] as const;
export type ItemStatus = (typeof itemStatuses)[number];

export const pipelineName = 'items';

export interface JobKey {
  tenantId: string;
  jobId: string;
}

export interface Counts {
  total: number;
  pending: number;
  processing: number;
  done: number;
  error: number;
  notFound: number;
  skipped: number;
}

export type CountName = Exclude<keyof Counts, 'total'>;
/** How counts move in one transaction; they are never set, only moved. */
export type CountDelta = Partial<Record<CountName, number>>;

export interface ItemJob extends JobKey {
  jobType: 'csv' | 'image';
  processor: string;
  options: Record<string, unknown>;
  columns: string[];
  resultColumns: string[];
  fileId: string | null;
  fileName: string | null;
  userId: string;
  counts: Counts;
  controllers: Record<string, unknown>;
}

/** What a job is made of: a file of rows, or images. Both are read in rows, for one and the same ingest. */
export interface JobSource {
  readonly jobType: ItemJob['jobType'];
  readonly columns: readonly string[] | null;
  read(maxRows: number, maxBytes: number): Promise<ParsedRow[] | null>;
  /** These rows are written. */
  written(rows: readonly ParsedRow[]): void;
  /** The ingest has failed: what was kept beside the rows goes. */
  discard(): Promise<void>;
  close(): Promise<void>;
  /** What the job's file is called, once all of it was read. */
  describe(): string | null;
}

/** An item as a processor's worker takes it. */
export interface ClaimedItem {
  id: number;
  rowNo: number;
  attempts: number;
  strategy: number;
  crashes: number;
  /** As it came: numbers of any length and every key survive. */
  inputJson: string;
}

/** Why an item waits for another try. Being given back at a pause or a stop is none. */
export type RetryClass = 'transient' | 'throttled' | 'not_found' | 'crashed';

/** What the next summarising events have to tell: items that ended, by status, and retries, by class. */
export type Unreported = Partial<Record<`ended.${ItemStatus}` | `retried.${RetryClass}`, number>>;

/** What becomes of a claimed item. */
export interface ItemChange {
  id: number;
  status: ItemStatus;
  resultJson: string | null;
  /** The result is the input: the database has it already. */
  resultIsInput: boolean;
  errorCode: string | null;
  lastError: string | null;
  /** For a waiting retry: when it may be taken again. */
  delayMs: number | null;
  /** Throttling and giving back do not use the attempt up. */
  givesAttemptBack: boolean;
  nextStrategy: boolean;
  /** Null: it ended, or was only given back. */
  retryClass: RetryClass | null;
}

/** The knobs of the document: bounds inside which the controllers move. */
export interface ItemBounds {
  ingestMinRows: number;
  ingestMaxRows: number;
  ingestMaxBatchBytes: number;
  dbP50Ms: number;
  dbP95Ms: number;
  targetSliceMs: number;
  claimMin: number;
  claimMax: number;
  safetyFactor: number;
  lockFloorMs: number;
  lockCapMs: number;
  maxAttemptsError: number;
  maxAttemptsNotFound: number;
}

/**
 * Settings for statements that have an index with just their order. Right after an ingest the planner knows nothing of
 * the new rows, and would rather read and sort all of them than take the first ones.
 */
export const byIndexAlone = { enable_sort: 'off', enable_bitmapscan: 'off', enable_seqscan: 'off' };

/** The defaults. */
export const itemBounds: ItemBounds = {
  ingestMinRows: 64,
  ingestMaxRows: 5_000,
  ingestMaxBatchBytes: 4 * 1024 * 1024,
  dbP50Ms: 50,
  dbP95Ms: 250,
  targetSliceMs: 5_000,
  claimMin: 1,
  claimMax: 1_000,
  safetyFactor: 0.7,
  lockFloorMs: 10_000,
  lockCapMs: 300_000,
  maxAttemptsError: 5,
  maxAttemptsNotFound: 2,
};

function countNameOf(status: ItemStatus): CountName {
  return status === 'NOT_FOUND' ? 'notFound' : (status.toLowerCase() as CountName);
}

/** The delta of moving `n` items from one status to another. */
export function moveCounts(
  delta: CountDelta,
  move: { from: ItemStatus; to: ItemStatus; n: number },
): CountDelta {
  const [from, to] = [countNameOf(move.from), countNameOf(move.to)];
  const next = { ...delta, [from]: (delta[from] ?? 0) - move.n };
  return { ...next, [to]: (next[to] ?? 0) + move.n };
}
