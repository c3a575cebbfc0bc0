import { endsSlice, isStopped, stoppedOutcome } from '../outcomes.ts';
import type { ItemInput, ItemOutcome, Processor, ProcessorContext } from '../types.ts';
import { assertDefinition, type ProcessorDefinition } from './define-processor.ts';
import { readOptions } from './options.ts';
import { checkOutcome, checkOutcomes, storableFailure } from './outcomes.ts';

/** A complete processor from a custom one: what it returns is checked, because wrong outcomes would lose items. */
export function toProcessor(definition: unknown): Processor {
  assertDefinition(definition);
  const { name, isPure = false } = definition;
  const read = rememberedOptions(definition);
  return {
    name,
    isPure,
    ...(definition.provider ? { provider: (options) => String(definition.provider?.(read(options))) } : {}),
    // A row for itself, so that its answer is kept as soon as it is there.
    ...(definition.processItem && !isPure ? { itemsPerCall: () => 1 } : {}),
    ...(definition.normalize ? { normalize: (input) => definition.normalize?.(input) } : {}),
    // Stored as given: what a schema turned them into (a date, a set) would not survive as JSON.
    validateOptions: (options) => {
      const given = options ?? {};
      read(given);
      return given;
    },
    process: (items, options, context) => run(definition, { items, options: read(options), context }),
  };
}

/** A turn reads the options of its job several times, always from the same object. */
function rememberedOptions(definition: ProcessorDefinition): (options: unknown) => unknown {
  const remembered = new WeakMap<object, unknown>();
  return (options) => {
    const given = (options ?? {}) as object;
    if (remembered.has(given)) return remembered.get(given);
    const read = readOptions(definition, given);
    remembered.set(given, read);
    return read;
  };
}

function countStrategies({ strategies = 1 }: ProcessorDefinition, options: unknown): number {
  const count = typeof strategies === 'number' ? strategies : Number(strategies(options));
  return Math.max(1, Math.floor(count) || 1);
}

interface Batch {
  items: ItemInput[];
  options: unknown;
  context: ProcessorContext;
}

async function run(definition: ProcessorDefinition, batch: Batch): Promise<ItemOutcome[]> {
  if (!definition.process) return runOneByOne(definition, batch);
  const { items, options, context } = batch;
  const checked = { name: definition.name, strategies: countStrategies(definition, options) };
  try {
    await assertHeld(definition, context);
    return checkOutcomes(await definition.process(items, options, context), { ...checked, items });
  } catch (error) {
    if (endsSlice(error)) throw error;
    return items.map(() => (isStopped(error, context) ? stoppedOutcome() : storableFailure(error)));
  }
}

async function runOneByOne(definition: ProcessorDefinition, batch: Batch): Promise<ItemOutcome[]> {
  const { items, options, context } = batch;
  const checked = { name: definition.name, strategies: countStrategies(definition, options) };
  const outcomes: ItemOutcome[] = [];
  for (const item of items) {
    if (context.signal.aborted || context.ending?.aborted || !definition.processItem) {
      outcomes.push(stoppedOutcome());
      continue;
    }
    try {
      await assertHeld(definition, context);
      const outcome = await definition.processItem(item, options, context);
      outcomes.push(checkOutcome(outcome, { ...checked, item }));
    } catch (error) {
      if (endsSlice(error)) throw error;
      outcomes.push(isStopped(error, context) ? stoppedOutcome() : storableFailure(error));
    }
  }
  return outcomes;
}

/** Also renews the lock: items that wait in the batch must not be taken over. */
async function assertHeld({ isPure }: ProcessorDefinition, context: ProcessorContext): Promise<void> {
  if (isPure !== true) await context.assertHeld();
}
