import { normalizedFields } from '../../../kernel/rows/normalized-fields.ts';
import { isSluiceError, messageOf } from '../../../lib/errors.ts';
import { parseExactly } from '../../../lib/rows/exact-json.ts';
import type { ClaimedItem, ItemJob } from '../types.ts';
import { isOurTrouble } from './processors/outcomes.ts';
import {
  type ItemInput,
  type ItemOutcome,
  type Processor,
  type ProcessorContext,
  sameAsInput,
} from './processors/types.ts';

const maxCrashes = 3;
/** Rows that are parsed, changed and written together: more text would block the main thread. */
const maxUnitsAtOnce = 1024 * 1024;

/**
 * Options were accepted when the job was created. A newer version may refuse them, such as a pattern with a lookahead:
 * then every row ends with that error.
 */
export function prepareProcessor(
  processor: Processor,
  job: ItemJob,
): { processor: Processor; options: unknown } {
  try {
    return { processor, options: processor.validateOptions(job.options) };
  } catch (error) {
    const { name, validateOptions } = processor;
    const process = () => Promise.reject(error);
    return { processor: { name, isPure: true, validateOptions, process }, options: job.options };
  }
}

/** The first item, and those after it that are not too long together. The others are left as they are. */
export function fitting(items: ClaimedItem[]): ClaimedItem[] {
  let units = 0;
  const end = items.findIndex(({ inputJson }, at) => {
    units += inputJson.length;
    return at > 0 && units > maxUnitsAtOnce;
  });
  return end === -1 ? items : items.slice(0, end);
}

/** Runs a processor over items. If it throws, its items have failed, not the job. */
export async function processItems(
  processor: Processor,
  { items, options, context }: { items: ClaimedItem[]; options: unknown; context: ProcessorContext },
): Promise<{ inputs: ClaimedInput[]; outcomes: ItemOutcome[] }> {
  const inputs = items.map((item) => new ClaimedInput(item, processor));
  if (items.some((item) => item.crashes >= maxCrashes)) {
    return { inputs, outcomes: items.map(() => crashedTooOften) };
  }
  try {
    const outcomes = await processor.process(inputs, options, context);
    return { inputs, outcomes: items.map((_, index) => outcomes[index] ?? noOutcome) };
  } catch (error) {
    // Trouble of our own is for the caller: it is not the rows' fault.
    if (isOurTrouble(error) || context.signal.aborted) throw error;
    const code = isSluiceError(error) ? error.code : 'processor_failed';
    const isPermanent = isSluiceError(error) && error.kind === 'invalid';
    const outcome: ItemOutcome = {
      status: 'ERROR',
      code,
      message: messageOf(error),
      class: isPermanent ? 'permanent' : 'transient',
    };
    return { inputs, outcomes: items.map(() => outcome) };
  }
}

/** An unchanged input keeps what JSON.parse loses, such as the digits of long numbers. */
export function exactly(outcome: ItemOutcome, input: ClaimedInput): ItemOutcome {
  if (outcome.status !== 'DONE' || outcome.result === sameAsInput || !input.is(outcome.result))
    return outcome;
  return { status: 'DONE', result: sameAsInput };
}

const crashedTooOften: ItemOutcome = {
  status: 'ERROR',
  code: 'worker_crashed',
  message: 'The worker process died several times in a row with this item',
  class: 'permanent',
};

const noOutcome: ItemOutcome = {
  status: 'ERROR',
  code: 'processor_failed',
  message: 'The processor gave no outcome for this item',
  class: 'transient',
};

/** A row as processors get it. Its values are parsed on first use: not every processor reads its rows. */
export class ClaimedInput implements ItemInput {
  readonly id: number;
  readonly rowNo: number;
  readonly attempts: number;
  readonly attemptNo: number;
  readonly strategy: number;
  readonly inputJson: string;
  readonly progressJson: string | null;
  readonly #processor: Processor;
  #input: Record<string, unknown> | undefined;
  #normalized: Record<string, unknown> | undefined;

  constructor(item: ClaimedItem, processor: Processor) {
    const {
      id,
      rowNo,
      attempts,
      earlierAttempts = 0,
      crashes,
      strategy,
      inputJson,
      progressJson = null,
    } = item;
    this.id = id;
    this.rowNo = rowNo;
    this.attempts = attempts;
    // A claim after a crash repeats the attempt that nobody heard the end of. No other attempt has its number.
    this.attemptNo = earlierAttempts + attempts - crashes;
    this.strategy = strategy;
    this.inputJson = inputJson;
    this.progressJson = progressJson;
    this.#processor = processor;
  }

  get input(): Record<string, unknown> {
    this.#input ??= parseExactly(this.inputJson) as Record<string, unknown>;
    return this.#input;
  }

  get normalized(): Record<string, unknown> {
    this.#normalized ??= (this.#processor.normalize?.(this.input) ??
      normalizedFields(this.inputJson)) as Record<string, unknown>;
    return this.#normalized;
  }

  /** Whether this is the input, and has not been changed. */
  is(value: unknown): boolean {
    if (value !== this.#input) return false;
    return JSON.stringify(this.#input) === JSON.stringify(parseExactly(this.inputJson));
  }
}
