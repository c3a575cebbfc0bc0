import { normalizedFields } from '../../../../../kernel/rows/normalized-fields.ts';
import { parseExactly } from '../../../../../lib/rows/exact-json.ts';
import { type ItemInput, type ItemOutcome, ResultJson, sameAsInput } from '../types.ts';
import type { Chain, ChainStep } from './options.ts';

/** What a row has behind it; stored with the row, so that no step that answered is asked again. */
interface Progress {
  /** The step that comes next. */
  step: number;
  /** What the steps before it found, in their order. */
  found: { by: string; result: unknown }[];
}

/** The column that says which steps answered. */
const answeredBy = 'answered_by';

/** A row on its way through the steps. */
export class ChainRow {
  readonly item: ItemInput;
  readonly #chain: Chain;
  #progress: Progress;
  /** Within the step: grows with each retry. */
  strategy: number;
  outcome: ItemOutcome | null = null;

  constructor(item: ItemInput, chain: Chain) {
    this.item = item;
    this.#chain = chain;
    this.#progress = readProgress(item.progressJson ?? null);
    this.strategy = item.strategy;
  }

  get step(): number {
    return Math.min(this.#progress.step, this.#chain.steps.length - 1);
  }

  get progressJson(): string {
    return JSON.stringify(this.#progress);
  }

  /** The row as a step sees it: with the columns that the steps before it have found. */
  inputFor({ name, processor }: ChainStep): ItemInput {
    const { item, strategy } = this;
    const { found } = this.#progress;
    const own = { id: item.id, rowNo: item.rowNo, strategy, keyPart: name };
    // Strategies that take turns within a step count as tries of it.
    const tries = {
      attempts: Math.max(item.attempts, strategy + 1),
      attemptNo: item.attemptNo ?? item.attempts,
    };
    if (found.length === 0) {
      const { input, inputJson, normalized } = item;
      return { ...own, ...tries, input, inputJson, normalized };
    }
    const prefixed = found.flatMap(({ by, result }) =>
      entriesOf(by, result).map(([key, value]) => [`${by}.${key}`, value] as const),
    );
    const input = Object.fromEntries([...Object.entries(item.input), ...prefixed, ...mergedEntries(found)]);
    const inputJson = JSON.stringify(input);
    const normalized = (processor.normalize?.(input) ??
      normalizedFields(inputJson)) as ItemInput['normalized'];
    return { ...own, ...tries, input, inputJson, normalized };
  }

  /** Takes what a step returned: the row ends with it, or is ready for the next step. */
  take(step: ChainStep, given: ItemOutcome): void {
    const isLast = this.step === this.#chain.steps.length - 1;
    const isWaterfall = this.#chain.mode === 'waterfall';
    if (given.status === 'DONE') {
      const result = plainResult(given.result, this.item);
      const found = [...this.#progress.found, { by: step.name, result }];
      if (isLast || isWaterfall) this.outcome = { status: 'DONE', result: resultOf(found) };
      else this.#goOn(found);
      return;
    }
    if (given.status === 'NOT_FOUND' && isWaterfall && !isLast) {
      this.#goOn(this.#progress.found);
      return;
    }
    this.outcome = this.#ended(step, given);
  }

  #goOn(found: Progress['found']): void {
    this.#progress = { step: this.step + 1, found };
    this.strategy = 0;
  }

  #ended({ name }: ChainStep, given: Exclude<ItemOutcome, { status: 'DONE' }>): ItemOutcome {
    const { found } = this.#progress;
    if (given.status === 'ERROR') {
      return given.attemptUnused === true ? given : { ...given, message: `Step ${name}: ${given.message}` };
    }
    const reason = `Step ${name}: ${given.reason}`;
    if (given.status === 'SKIPPED') return { ...given, reason };
    const last = given.result === undefined ? [] : [{ by: name, result: given.result }];
    const result = [...found, ...last].length === 0 ? {} : { result: resultOf(found, last) };
    // Nobody had anything: whoever asks for it again wants all of them to be asked.
    const startsOver = this.#chain.mode === 'waterfall' ? ({ startsOver: true } as const) : {};
    return { ...given, reason, ...result, ...startsOver };
  }
}

/** Zero for a row that has none. */
export function stepOf(progressJson: string | null): number {
  return readProgress(progressJson).step;
}

function readProgress(json: string | null): Progress {
  return json === null ? { step: 0, found: [] } : (parseExactly(json) as Progress);
}

function plainResult(result: unknown, item: ItemInput): unknown {
  if (result === sameAsInput) return item.input;
  return result instanceof ResultJson ? parseExactly(result.json) : result;
}

function resultOf(found: Progress['found'], unfound: Progress['found'] = []): Record<string, unknown> {
  const entries = mergedEntries([...found, ...unfound]);
  let name = answeredBy;
  while (entries.some(([key]) => key === name)) name = `item_${name}`;
  // fromEntries keeps a column that is named __proto__.
  return Object.fromEntries([...entries, [name, found.map(({ by }) => by).join(', ')]]);
}

/** All columns. Of two steps with the same one the later keeps its name, and the earlier is prefixed with its step. */
function mergedEntries(found: Progress['found']): [string, unknown][] {
  const merged = new Map<string, { by: string; value: unknown }>();
  for (const { by, result } of found) {
    for (const [key, value] of entriesOf(by, result)) {
      const before = merged.get(key);
      if (before !== undefined && JSON.stringify(before.value) !== JSON.stringify(value)) {
        merged.set(`${before.by}.${key}`, before);
      }
      merged.set(key, { by, value });
    }
  }
  return [...merged].map(([key, { value }]) => [key, value]);
}

/** A result that is not an object is a column with the name of its step. */
function entriesOf(by: string, result: unknown): [string, unknown][] {
  const isObject = typeof result === 'object' && result !== null && !Array.isArray(result);
  return isObject ? Object.entries(result) : [[by, result ?? null]];
}
