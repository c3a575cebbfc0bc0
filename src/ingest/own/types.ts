import type { Schema } from './definitions/schema.ts';

/** What a job remembers between its slices, as JSON. */
// biome-ignore lint/suspicious/noExplicitAny: only whoever writes the pipeline knows what it remembers.
export type Remembered = Record<string, any>;

/** A row of a result whose columns only the statement knows. */
// biome-ignore lint/suspicious/noExplicitAny: the driver says no more of it either.
export type Row = Record<string, any>;

/** The fenced transaction of a slice, under a role that reaches the application's tables and none of Sluice's. */
export interface EffectsTx {
  query<R extends Row = Row>(
    text: string,
    params?: readonly unknown[],
  ): Promise<{ rows: R[]; rowCount: number }>;
}

/** How often and when a failed slice is tried again. */
export interface RetryRule {
  /** How many retries follow the first try. Default: 3. */
  maxRetries?: number;
  /** Between two tries, in milliseconds; or none, or growing. Default: from 1 s, doubled each time, up to 1 minute. */
  delay?:
    | number
    | { type: 'none' }
    | { type: 'fixed'; delayMs: number }
    | { type: 'exponential'; baseMs: number; capMs?: number; jitter?: number };
}

export interface RetryRules extends RetryRule {
  /**
   * By the class of the error: its `code`, or else its `name`. `false` makes a dead letter at once. Classes that are
   * not listed follow the rule above.
   */
  classes?: Record<string, RetryRule | false>;
  /** Where code and name say too little. Undefined: the usual class. */
  classOf?(error: unknown): string | undefined;
}

/** When a job is made by itself. Ticks that were missed make one job together, in one process of all. */
export interface Schedule<Input> {
  /** Every so many milliseconds. */
  every?: number;
  /** Five fields, or six with seconds: `0 6 * * mon-fri`. */
  cron?: string;
  /** Of the cron pattern: `Europe/Berlin`. Default: UTC. */
  timeZone?: string;
  /** Whose jobs they are. Default: `default`, the tenant of whoever runs Sluice. */
  tenantId?: string;
  /** Also as a function of the moment that the job is for. */
  input?: Input | ((tick: Date) => Input);
}

/** At most `limit` jobs of the same tenant and key run at a time; the others wait their turn and use no attempt. */
export interface Concurrency<Input> {
  key(input: Input): string;
  limit: number;
}

export interface OwnJob<Input> {
  jobId: string;
  tenantId: string;
  subjectId: string;
  input: Input;
  checkpoint: Remembered;
  counters: Record<string, number>;
  /** How many retries it has used. */
  retries: number;
}

/** What stays when a slice, or a transaction in the middle of one, commits; what is absent stays as it was. */
export interface Progress {
  checkpoint?: Remembered;
  counters?: Record<string, number>;
}

/** One bounded step of a job. */
export interface OwnSlice<Input> {
  readonly job: OwnJob<Input>;
  /** Aborted when another worker has the job, or this one stops: make no further outside call. */
  readonly signal: AbortSignal;
  /** True when the job was paused or the worker stops: return `continue` soon. */
  shouldYield(): boolean;
  /** Throws unless this worker still holds the job. Call it before an outside call that cannot be taken back. */
  assertHeld(): Promise<void>;
  /** A fenced transaction in the middle of the slice; `progress` commits with it. */
  transaction<T>(
    work: (tx: EffectsTx) => Promise<T>,
    progress?: Progress | ((result: T) => Progress),
  ): Promise<T>;
}

export interface OwnOutcome {
  type: 'done' | 'continue' | 'wait';
  /** For `wait`: how long, in milliseconds. */
  delayMs?: number;
  /** For `done`: the job's result, as JSON. */
  result?: unknown;
}

export interface OwnSliceResult extends Progress {
  outcome: OwnOutcome;
  /** Commits together with the checkpoint, the counters and the outcome, or not at all. */
  effects?(tx: EffectsTx): Promise<unknown>;
}

interface DefinitionParts<Name extends string, Input, Given> {
  name: Name;
  retry?: RetryRules;
  schedule?: Schedule<Given>;
  concurrency?: Concurrency<Input>;
}

export interface PipelineSpec<Name extends string, S extends Schema, Input, Given>
  extends DefinitionParts<Name, Input, Given> {
  input: S;
  advance(slice: OwnSlice<Input>): Promise<OwnSliceResult> | OwnSliceResult;
  /** Slices of a canceled job, until one returns `done`. */
  cleanUp?(slice: OwnSlice<Input>): Promise<OwnSliceResult> | OwnSliceResult;
  /** How far the job is, in words. */
  progress?(job: OwnJob<Input>): string;
}

/** For `step`: what the work gets. */
export interface StepContext {
  /** The same at every try: pass it on to whoever is called, so that a repeated call has no second effect. */
  idempotencyKey: string;
  signal: AbortSignal;
}

export interface TaskContext {
  /** Does the work once and remembers its JSON result before the next line runs; later runs get the result. */
  step<T>(name: string, work: (context: StepContext) => Promise<T> | T): Promise<T>;
  /** Goes on after so many milliseconds. Meanwhile the task holds no slot, and processes may come and go. */
  sleep(ms: number): Promise<void>;
  signal: AbortSignal;
  tenantId: string;
  jobId: string;
  /** How many retries it has used. */
  retries: number;
}

export interface TaskSpec<Name extends string, S extends Schema, Input, Given, Result>
  extends DefinitionParts<Name, Input, Given> {
  input: S;
  /** Its return value is the job's result. */
  run(input: Input, context: TaskContext): Promise<Result> | Result;
}

/** What `definePipeline` and `defineTask` make. */
export type OwnDefinition = PipelineDefinition | TaskDefinition;

/** The types that a definition carries to `dispatch`; there is no such member at run time. */
export interface Carries<Name extends string, Given> {
  readonly name: Name;
  readonly '~types'?: { input: Given };
}

export interface PipelineDefinition
  extends Carries<string, unknown>,
    Omit<PipelineSpec<string, Schema, unknown, unknown>, 'name'> {
  readonly kind: 'pipeline';
}

export interface TaskDefinition
  extends Carries<string, unknown>,
    Omit<TaskSpec<string, Schema, unknown, unknown, unknown>, 'name'> {
  readonly kind: 'task';
}
