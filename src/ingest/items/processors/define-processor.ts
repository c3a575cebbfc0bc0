import { processorErrors } from './errors.ts';
import { endsSlice, failureOf, stoppedOutcome } from './outcomes.ts';
import type { ItemInput, ItemOutcome, Processor, ProcessorContext } from './types.ts';

/** A processor as somebody writes it in sluice.config.mjs: a name, and what happens to one item or to many. */
export interface ProcessorDefinition<Options = unknown> {
  name: string;
  /** No outside effect. False unless said otherwise. */
  isPure?: boolean;
  provider?: (options: Options) => string;
  strategies?: number | ((options: Options) => number);
  validateOptions?: (options: unknown) => Options;
  normalize?: (input: Record<string, unknown>) => unknown;
  /** One item; what it throws becomes the item's error. */
  processItem?: (
    item: ItemInput,
    options: Options,
    context: ProcessorContext,
  ) => ItemOutcome | Promise<ItemOutcome>;
  /** Many items: one outcome each, in order. */
  process?: (items: ItemInput[], options: Options, context: ProcessorContext) => Promise<ItemOutcome[]>;
}

/** A complete processor; what it answers is checked, because a wrong answer would lose items. */
export function defineProcessor<Options = unknown>(definition: ProcessorDefinition<Options>): Processor {
  assertDefinition(definition);
  const { name, isPure = false, provider, normalize, strategies = 1 } = definition;
  const readOptions = (options: unknown) =>
    definition.validateOptions ? definition.validateOptions(options) : (options as Options);
  const count = (options: unknown) =>
    typeof strategies === 'number' ? strategies : strategies(readOptions(options));
  return {
    name,
    isPure,
    ...(provider ? { provider: (options) => provider(readOptions(options)) } : {}),
    ...(normalize ? { normalize } : {}),
    strategies: (options) => Math.max(1, Math.floor(count(options)) || 1),
    validateOptions: readOptions,
    process: async (items, options, context) => {
      const read = readOptions(options);
      const outcomes = definition.process
        ? await definition.process(items, read, context)
        : await processOneByOne(definition, { items, options: read, context });
      return checkOutcomes(outcomes, { name, count: items.length });
    },
  };
}

function assertDefinition(definition: unknown): asserts definition is ProcessorDefinition {
  const { name, process, processItem } = (definition ?? {}) as Record<string, unknown>;
  if (typeof name !== 'string' || !/^[a-z][a-z0-9_-]{0,49}$/.test(name)) {
    throw processorErrors.raise.processor_definition_invalid(
      'A processor needs a name of lower-case letters, digits, - and _, at most 50, that starts with a letter',
    );
  }
  if ((typeof process === 'function') === (typeof processItem === 'function')) {
    throw processorErrors.raise.processor_definition_invalid(
      `The processor ${name} needs one function: process(items, options, context) or processItem(item, …)`,
    );
  }
}

async function processOneByOne<Options>(
  { processItem }: ProcessorDefinition<Options>,
  { items, options, context }: { items: ItemInput[]; options: Options; context: ProcessorContext },
): Promise<ItemOutcome[]> {
  const outcomes: ItemOutcome[] = [];
  for (const item of items) {
    if (context.signal.aborted || !processItem) {
      outcomes.push(stoppedOutcome());
      continue;
    }
    try {
      outcomes.push(await processItem(item, options, context));
    } catch (error) {
      if (endsSlice(error)) throw error;
      outcomes.push(context.signal.aborted ? stoppedOutcome() : failureOf(error));
    }
  }
  return outcomes;
}

function checkOutcomes(outcomes: unknown, { name, count }: { name: string; count: number }): ItemOutcome[] {
  if (!Array.isArray(outcomes) || outcomes.length !== count) {
    const found = Array.isArray(outcomes) ? `${outcomes.length} outcomes` : typeof outcomes;
    throw processorErrors.raise.processor_misbehaved(
      `The processor ${name} answered ${found} for ${count} items; it must answer one outcome per item`,
    );
  }
  return outcomes.map((outcome) => checkOutcome(outcome, name));
}

const allowed = ['DONE', 'SKIPPED', 'NOT_FOUND', 'ERROR'];

function checkOutcome(outcome: unknown, name: string): ItemOutcome {
  const {
    status,
    result,
    reason,
    code,
    message,
    class: errorClass,
    ...rest
  } = (outcome ?? {}) as Record<string, unknown>;
  switch (status) {
    case 'DONE':
      return { status, result: result ?? null };
    case 'SKIPPED':
      return { status, reason: String(reason ?? 'skipped') };
    case 'NOT_FOUND':
      return {
        status,
        reason: String(reason ?? 'not found'),
        ...(result === undefined ? {} : { result }),
      };
    case 'ERROR':
      return {
        status,
        code: String(code ?? 'processor_failed'),
        message: String(message ?? 'The processor gave no reason'),
        class: errorClass === 'permanent' || errorClass === 'throttled' ? errorClass : 'transient',
        ...(typeof rest.retryAfterMs === 'number' ? { retryAfterMs: rest.retryAfterMs } : {}),
        ...(rest.attemptUnused === true ? { attemptUnused: true } : {}),
      };
    default:
      throw processorErrors.raise.processor_misbehaved(
        `The processor ${name} answered the status ${JSON.stringify(status)}. Allowed: ${allowed.join(', ')}`,
      );
  }
}
