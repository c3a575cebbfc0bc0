import type { FileRecord } from '../../kernel/files/types.ts';
import type { Role } from '../../kernel/tenancy/types.ts';
import type { RowNote } from '../../lib/rows/notes.ts';
import type { ParsedRow } from '../../lib/rows/types.ts';
import type { SettingValues } from '../../lib/settings/settings.ts';
import type { itemSettings } from './settings.ts';

export const itemStatuses = ['PENDING', 'PROCESSING', 'DONE', 'ERROR', 'NOT_FOUND', 'SKIPPED'] as const;
export type ItemStatus = (typeof itemStatuses)[number];

export const pipelineName = 'items';

export interface JobKey {
  tenantId: string;
  jobId: string;
}

export interface ItemKey extends JobKey {
  itemId: number;
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
/** How counts change in one transaction; they are never set, only moved. */
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
  /** The role of the user when the job was created: the job uses secrets with its rights. */
  userRole: Role;
  counts: Counts;
  controllers: Record<string, unknown>;
  /** What the reader of the file repaired. */
  notes: readonly RowNote[];
  /** File column → column of the job, or null if it was left out. Null instead: as in the file. */
  mapping: Record<string, string | null> | null;
}

/** What is kept of a file of rows: its bytes are not, because its rows are. */
export type RowsFile = Pick<FileRecord, 'fileId' | 'mediaType' | 'sizeBytes' | 'sha256'>;

/** What a job is created from: a file of rows, or images. Both are read as rows by the same ingest. */
export interface JobSource {
  readonly jobType: ItemJob['jobType'];
  /** Repaired rows may add some. */
  readonly columns: readonly string[] | null;
  /** What was repaired so far, and how columns are mapped; images have neither. */
  readonly notes?: readonly RowNote[];
  readonly mapping?: ItemJob['mapping'];
  read(maxRows: number, maxBytes: number): Promise<ParsedRow[] | null>;
  /** Called when these rows are written. */
  written(rows: readonly ParsedRow[]): void;
  /** Called when the ingest has failed: removes stored bytes that no row names. */
  discard(): Promise<void>;
  close(): Promise<void>;
  /** The name of the job's file, once all of it was read. */
  describe(): string | null;
  /** What is recorded of a file of rows, once all of it was read; images have records of their own. */
  readonly file?: RowsFile;
}

/** An item as a worker claims it. */
export interface ClaimedItem {
  id: number;
  rowNo: number;
  attempts: number;
  strategy: number;
  crashes: number;
  /** Of the attempts: those that the provider throttled, and those that found nothing. */
  throttled: number;
  notFound: number;
  /** Of the attempts: those that were lost because a worker was cut off. They are given back with the next outcome. */
  uncharged?: number;
  /** Those before the count began again; only the number of an attempt needs them. */
  earlierAttempts?: number;
  /** Unchanged: numbers of any length and every key survive. */
  inputJson: string;
  /** How far the row came before, for a processor of several steps. */
  progressJson?: string | null;
}

/**
 * What a row waits for: another try after a failure, after throttling or after nothing was found; its provider, which
 * asked for a pause, fails, or has no budget left.
 */
export const waits = [
  'retry',
  'throttled',
  'not_found',
  'provider_pause',
  'provider_down',
  'budget',
] as const;
export type Wait = (typeof waits)[number];

/** Why an item waits for a retry. Being given back at a pause or a stop is not a retry. */
export type RetryClass = 'transient' | 'throttled' | 'not_found' | 'crashed';

/** What the next summary events report: finished items by status, and retries by class. */
export type Unreported = Partial<Record<`ended.${ItemStatus}` | `retried.${RetryClass}`, number>>;

/** The new state of a claimed item. */
export interface ItemChange {
  id: number;
  status: ItemStatus;
  resultJson: string | null;
  /** The result is the input: the database has it already. */
  resultIsInput: boolean;
  errorCode: string | null;
  lastError: string | null;
  /** For a retry: when it may be claimed again. */
  delayMs: number | null;
  /** Throttling and giving back do not use up the attempt. */
  givesAttemptBack: boolean;
  nextStrategy: boolean;
  /** Null: it finished, or was only given back. */
  retryClass: RetryClass | null;
  /** For a row that is pending again. */
  waitingFor: Wait | null;
  /** A later try begins at the first step again. */
  forgetsProgress: boolean;
}

/** The bounds inside which the controllers move. */
export type ItemBounds = Omit<SettingValues<typeof itemSettings>, 'globalPendingEnabled' | 'maxOpenItems'>;

/**
 * Settings for statements that have an index in exactly their order. Right after an ingest the planner has no
 * statistics about the new rows, and would read and sort all of them instead of taking the first ones.
 */
export const byIndexAlone = { enable_sort: 'off', enable_bitmapscan: 'off', enable_seqscan: 'off' };

/** The count of the items with this status. */
export function countNameOf(status: ItemStatus): CountName {
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
