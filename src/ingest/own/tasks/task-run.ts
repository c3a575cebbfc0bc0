import type { Seam, SeamHook } from '../../../kernel/house/seams.ts';
import type { Outcome, Slice, SliceResult } from '../../../kernel/jobs/types.ts';
import { asJson } from '../definitions/json.ts';
import { ownErrors } from '../errors.ts';
import { kernelOutcome, resultKey } from '../pipelines/own-pipeline.ts';
import type { StepContext, TaskContext, TaskDefinition } from '../types.ts';

/** What a task has done, in the order in which it was done. */
export interface RememberedStep {
  /** As the task named it; from its second use on with a number: `charge#2`. */
  name: string;
  value?: unknown;
  /** For a sleep: how long it was to last. */
  sleepMs?: number;
  /** When it was remembered, and how long the work took. */
  at: string;
  tookMs?: number;
}

const maxMemoryBytes = 512 * 1024;
const maxSleepMs = 10 * 366 * 24 * 3_600_000;
/** A task of many steps gives others their turn in between. */
const turnMs = 5_000;

/**
 * One slice of a task: its function from the beginning, with what it has done already taken from memory. A sleep, or a
 * pause of the job, leaves the function where it is; a later slice comes to the same place and goes on from there.
 */
export class TaskRun {
  readonly #definition: TaskDefinition;
  readonly #slice: Slice;
  readonly #seams: SeamHook;
  readonly #memory: Map<string, RememberedStep>;
  readonly #uses = new Map<string, number>();
  readonly #startedAtMs = performance.now();
  readonly #left: Promise<SliceResult>;
  #leave: (result: SliceResult) => void = () => {};
  #die: (error: unknown) => void = () => {};
  #leavesWith: Outcome | null = null;
  #inFlight = 0;
  #saving: Promise<unknown> = Promise.resolve();

  constructor(definition: TaskDefinition, slice: Slice, seams: SeamHook) {
    this.#seams = seams;
    this.#definition = definition;
    this.#slice = slice;
    const steps = (slice.job.checkpoint.steps ?? []) as RememberedStep[];
    this.#memory = new Map(steps.map((step) => [step.name, step]));
    this.#left = new Promise((resolve, reject) => {
      this.#leave = resolve;
      this.#die = reject;
    });
  }

  advance(input: unknown): Promise<SliceResult> {
    return Promise.race([this.#toEnd(input), this.#left]);
  }

  async #toEnd(input: unknown): Promise<SliceResult> {
    const { tenantId, jobId, retryCount } = this.#slice.job;
    const context: TaskContext = {
      step: (name, work) => this.#step(name, work),
      sleep: (ms) => this.#sleep(ms),
      signal: this.#slice.signal,
      ...{ tenantId, jobId, retries: retryCount },
    };
    const returned = await this.#definition.run(input, context);
    const result = asJson(returned, {
      what: `The result of ${this.#definition.name}`,
      maxBytes: maxMemoryBytes,
    });
    const { checkpoint, counters } = this.#state();
    const kept = result === undefined ? checkpoint : { ...checkpoint, [resultKey]: result };
    return { outcome: kernelOutcome({ type: 'done', result }), checkpoint: kept, counters };
  }

  async #step<T>(name: string, work: (context: StepContext) => Promise<T> | T): Promise<T> {
    const key = this.#keyOf(name);
    if (this.#leavesWith !== null) return never();
    const known = this.#memory.get(key);
    if (known) return known.value as T;
    const isLong = performance.now() - this.#startedAtMs > turnMs;
    if (isLong || this.#slice.shouldYield()) return this.#leaveHere({ type: 'continue' });
    this.#inFlight += 1;
    try {
      await this.#slice.assertHeld();
      const beganAtMs = performance.now();
      const { signal } = this.#slice;
      if (this.#diesAt('before-step')) return await never();
      const done = await work({ idempotencyKey: `${this.#slice.job.jobId}/${key}`, signal });
      if (this.#diesAt('after-step')) return await never();
      const value = asJson(done, { what: `The result of step ${key}`, maxBytes: maxMemoryBytes });
      const tookMs = Math.round(performance.now() - beganAtMs);
      await this.#remember({ name: key, value, at: new Date().toISOString(), tookMs });
      return value;
    } finally {
      this.#inFlight -= 1;
      this.#leaveWhenQuiet();
    }
  }

  /** What dies here leaves the task's own code where it is: thrown, that code could catch it and go on. */
  #diesAt(seam: Seam): boolean {
    try {
      this.#seams(seam, this.#slice.job);
      return false;
    } catch (error) {
      this.#leavesWith = { type: 'continue' };
      this.#die(error);
      return true;
    }
  }

  /** The entry commits together with the wait, so whoever finds it there has waited. */
  async #sleep(ms: number): Promise<void> {
    if (!Number.isFinite(ms) || ms < 0 || ms > maxSleepMs) {
      throw new RangeError(`sleep(${ms}): allowed are 0 to ${maxSleepMs} milliseconds`);
    }
    const key = this.#keyOf('sleep');
    if (this.#leavesWith !== null) return never();
    if (this.#memory.has(key)) return;
    this.#memory.set(key, { name: key, sleepMs: ms, at: new Date().toISOString() });
    return this.#leaveHere({ type: 'wait', delayMs: Math.ceil(ms) });
  }

  #keyOf(name: string): string {
    if (typeof name !== 'string' || name === '' || name.length > 200 || /[\0\p{Surrogate}]/u.test(name)) {
      throw new TypeError('A step needs a name of 1 to 200 characters');
    }
    const use = (this.#uses.get(name) ?? 0) + 1;
    this.#uses.set(name, use);
    return use === 1 ? name : `${name}#${use}`;
  }

  /** One after the other: each writes the whole memory. */
  #remember(step: RememberedStep): Promise<void> {
    const saved = this.#saving.then(async () => {
      this.#memory.set(step.name, step);
      await this.#slice.transaction(async () => {}, this.#state());
    });
    this.#saving = saved.catch(() => {});
    return saved;
  }

  #state() {
    const steps = [...this.#memory.values()];
    if (Buffer.byteLength(JSON.stringify(steps)) > maxMemoryBytes) {
      throw ownErrors.raise.not_json(
        `The steps of ${this.#definition.name} remember more than ${maxMemoryBytes} bytes together`,
      );
    }
    return { checkpoint: { steps }, counters: { steps: steps.length } };
  }

  #leaveHere(outcome: Outcome): Promise<never> {
    this.#leavesWith = outcome;
    this.#leaveWhenQuiet();
    return never();
  }

  /** Steps that run beside the one that leaves come to their end and are remembered first. */
  #leaveWhenQuiet(): void {
    if (this.#leavesWith === null || this.#inFlight > 0) return;
    this.#leave({ outcome: this.#leavesWith, ...this.#state() });
  }
}

/** What comes after it in the function belongs to a later slice. */
function never(): Promise<never> {
  return new Promise(() => {});
}
