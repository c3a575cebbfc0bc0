import type { WantedSecret } from '../../../../kernel/secrets/types.ts';
import type { GuardedFetch } from '../../../../lib/fetch/guarded-fetch.ts';
import type { JobImages } from '../../images/types.ts';
import type { ProviderWait } from '../../providers/provider-limiter.ts';
import type { Wait } from '../../types.ts';

/** When an error is retried: never, soon with backoff, or when the provider is ready again. */
export type ErrorClass = 'permanent' | 'transient' | 'throttled';

/** As a result: the unchanged input, to the last digit. It is not even parsed for that. */
export const sameAsInput = Symbol('same as input');

/** As a result: JSON text that is stored as it is. */
export class ResultJson {
  readonly json: string;

  constructor(json: string) {
    this.json = json;
  }
}

export type ItemOutcome =
  | { status: 'DONE'; result: unknown }
  | { status: 'SKIPPED'; reason: string }
  | {
      status: 'NOT_FOUND';
      reason: string;
      result?: unknown;
      /** Instead of the usual rule: with the next strategy at once, or never. */
      retry?: 'at_once' | 'never';
      /** If the row ends with this, a later try begins at the first step again. */
      startsOver?: true;
    }
  | ItemError;

export interface ItemError {
  status: 'ERROR';
  code: string;
  message: string;
  class: ErrorClass;
  retryAfterMs?: number;
  /** The item was not processed (the provider throttled, the slice was stopped): its attempt is given back. */
  attemptUnused?: true;
  /** The retry uses the same strategy; otherwise it takes the next one. */
  keepsStrategy?: true;
  /** With `attemptUnused`: what the row waits for. */
  waitingFor?: Wait;
}

export interface ItemInput {
  id: number;
  rowNo: number;
  /** May have any keys, also `__proto__`: read with Object.hasOwn. */
  input: Record<string, unknown>;
  /** The same as JSON text, exactly as it is stored. */
  readonly inputJson: string;
  /** The well-known fields (title, brand, sku, …) under one name each, trimmed and in NFC; computed on first use. */
  readonly normalized: Readonly<Record<string, unknown>>;
  attempts: number;
  /** The same for every call of one attempt, also when a crash makes it necessary to repeat the call. */
  attemptNo?: number;
  /** Grows with each retry; a processor takes it modulo the number of its strategies. */
  strategy: number;
  /** How far the row came before, for a processor of several steps. */
  readonly progressJson?: string | null;
  /** Tells the calls of one attempt apart: the step. */
  keyPart?: string;
}

export interface ItemProgress {
  id: number;
  progressJson: string;
}

export interface ProcessorContext {
  /** When it aborts, no further call is made; finished outcomes are still returned. */
  signal: AbortSignal;
  /** When it aborts, no further call is started; running calls are finished. */
  ending?: AbortSignal;
  tenantId: string;
  jobId: string;
  /** Throws unless the items are still ours. Called before every outside call: fencing cannot undo a POST. */
  assertHeld(): Promise<void>;
  fetch: GuardedFetch;
  /** The value of a stored secret. `fetch` refuses to send it to a host that it was not stored for. */
  secret(name: string): Promise<string>;
  /** One row of search_events per provider call. */
  log(event: ProviderCall): void;
  /** Provider calls that may run at once; backpressure sets it. */
  concurrency?: number;
  /** Only for a job that was created from images. */
  images?: JobImages;
  /** The context of one step of several: with the pace of its own provider, and its own right to secrets. */
  forStep?(step: { processor: string; provider: string | null }): ProcessorContext;
  /** How long calls to a provider have to wait. */
  waitOf?(provider: string): ProviderWait | null;
  /** Stores how far rows have come, with the calls so far. Returns the ids of those that are still ours. */
  keep?(progress: readonly ItemProgress[]): Promise<ReadonlySet<number>>;
}

export interface Processor {
  readonly name: string;
  /** No outside effect: claim and completion may share one transaction. */
  readonly isPure: boolean;
  /** With these options it takes so long that no transaction may stay open for it, pure or not. */
  isSlow?(options: unknown): boolean;
  /** The key of what is called, for backpressure. */
  readonly provider?: (options: unknown) => string;
  /** If it calls several: all of them, and the one that a row which has come so far needs next. */
  providers?(options: unknown): string[];
  providerAt?(options: unknown, progressJson: string | null): string;
  /** The options with their defaults; refuses with a 422 that points at what is wrong. */
  validateOptions(options: unknown): unknown;
  /** How many items it processes together. Default: depends on the provider's pace. */
  readonly itemsAtOnce?: number;
  /**
   * For a processor whose time goes to calls: how many items one call takes. Then `process` gets as many, many run side
   * by side, and while they wait their job takes no slot of the worker.
   */
  itemsPerCall?(options: unknown): number;
  /** The secrets that the options name, and every address that they would be sent to. */
  readonly secrets?: (options: unknown) => WantedSecret[];
  /** What the calls of a job may cost before it is paused. */
  budget?(options: unknown): number | undefined;
  /** Every address that the options name, whatever the rows hold. */
  addresses?(options: unknown): FixedAddress[];
  /** When a job is created: throws for problems with the options that only the database can know. */
  assertUsable?(options: unknown, job: { tenantId: string }): Promise<void>;
  /** Returns as many outcomes as items, in the same order. */
  process(items: ItemInput[], options: unknown, context: ProcessorContext): Promise<ItemOutcome[]>;
  /** Replaces the well-known fields in `normalized`; stored with the row when its file is ingested. */
  normalize?(input: Record<string, unknown>): unknown;
}

export interface FixedAddress {
  url: string;
  pointer: string;
}

export interface ProviderCall {
  provider: string;
  itemIds: number[];
  strategy: string;
  /** Null when there was no response. */
  status: number | null;
  /** `done`, `not_found`, or the class of the error. */
  outcome: string;
  tookMs: number;
  error?: string;
  /** Where the provider's answer tells them, as that of a language model does. */
  cost?: number;
  tokens?: number;
}
