import { isSluiceError, messageOf } from '../../lib/errors.ts';
import type { ItemInput, ItemOutcome, Processor, ProcessorContext } from './processors/types.ts';
import type { ClaimedItem } from './types.ts';

const maxCrashes = 3;

/** Runs a processor over items. One that throws has failed for its items, not for the job. */
export async function processItems(
  processor: Processor,
  { items, options, context }: { items: ClaimedItem[]; options: unknown; context: ProcessorContext },
): Promise<{ inputs: ItemInput[]; outcomes: ItemOutcome[] }> {
  const inputs = items.map(toInput);
  if (items.some((item) => item.crashes >= maxCrashes)) {
    return { inputs, outcomes: items.map(() => crashedTooOften) };
  }
  try {
    const outcomes = await processor.process(inputs, options, context);
    return { inputs, outcomes: items.map((_, index) => outcomes[index] ?? noOutcome) };
  } catch (error) {
    context.signal.throwIfAborted();
    if (isSluiceError(error) && error.code === 'lease_lost') throw error;
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

function toInput({ id, rowNo, attempts, strategy, inputJson }: ClaimedItem): ItemInput {
  return { id, rowNo, attempts, strategy, input: JSON.parse(inputJson) as Record<string, unknown> };
}
