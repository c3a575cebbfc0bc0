import type { GuardedFetch } from '../../../../lib/fetch/guarded-fetch.ts';
import type { JobImages } from '../../images/types.ts';

/** What a retry makes of an error: never, soon with backoff, or when the provider is ready again. */
export type ErrorClass = 'permanent' | 'transient' | 'throttled';

/** As a result: the input as it came, to the last digit. It is not even read for that. */
export const sameAsInput = Symbol('same as input');

export type ItemOutcome =
  | { status: 'DONE'; result: unknown }
  | { status: 'SKIPPED'; reason: string }
  | {
      status: 'NOT_FOUND';
      reason: string;
      result?: unknown;
      /** Instead of the usual rule: with the next strategy at once, or not again. */
      retry?: 'at_once' | 'never';
    }
  | ItemError;

export interface ItemError {
  status: 'ERROR';
  code: string;
  message: string;
  class: ErrorClass;
  retryAfterMs?: number;
  /** The item's turn never came (the provider throttled, the slice was stopped): its attempt is to be given back. */
  attemptUnused?: true;
  /** The retry asks the same way again; otherwise it takes the next strategy. */
  keepsStrategy?: true;
}

export interface ItemInput {
  id: number;
  rowNo: number;
  /** May have any keys, also `__proto__`: read with Object.hasOwn. */
  input: Record<string, unknown>;
  /** The well-known fields (title, brand, sku, …) under one name each, trimmed and in NFC; made when first read. */
  readonly normalized: Readonly<Record<string, unknown>>;
  attempts: number;
  /** Counts up with the retries; a processor takes it modulo the number of its strategies. */
  strategy: number;
}

export interface ProcessorContext {
  /** When it aborts, no further call is made; what is finished is still answered. */
  signal: AbortSignal;
  /** When it aborts, no further call is begun; those that were begun are finished. */
  ending?: AbortSignal;
  tenantId: string;
  jobId: string;
  /** Throws unless the items are still ours. Called before every outside call: fencing cannot undo a POST. */
  assertHeld(): Promise<void>;
  fetch: GuardedFetch;
  secret(name: string): Promise<string>;
  /** One row of search_events per provider call. */
  log(event: ProviderCall): void;
  /** Provider calls that may run at once; backpressure sets it. */
  concurrency?: number;
  /** Of a job that is made of images. */
  images?: JobImages;
}

export interface Processor {
  readonly name: string;
  /** No outside effect: claim and completion may share one transaction. */
  readonly isPure: boolean;
  /** The key of what is called, for backpressure. */
  readonly provider?: (options: unknown) => string;
  strategies(options: unknown): number;
  /** The options with their defaults; refuses with a 422 that points at what is wrong. */
  validateOptions(options: unknown): unknown;
  /** How many items it wants to see together; otherwise as many as its provider's pace makes sensible. */
  readonly itemsAtOnce?: number;
  /** Refuses what only the database can know is wrong with the options, when a job is made. */
  assertUsable?(options: unknown, job: { tenantId: string }): Promise<void>;
  /** As many outcomes as items, in the same order. */
  process(items: ItemInput[], options: unknown, context: ProcessorContext): Promise<ItemOutcome[]>;
  /** What `normalized` holds, in place of the well-known fields; kept with the row when its file is taken in. */
  normalize?(input: Record<string, unknown>): unknown;
}

export interface ProviderCall {
  provider: string;
  itemIds: number[];
  strategy: string;
  /** Null when there was no answer. */
  status: number | null;
  /** `done`, `not_found`, or the class of the error. */
  outcome: string;
  tookMs: number;
  error?: string;
}
