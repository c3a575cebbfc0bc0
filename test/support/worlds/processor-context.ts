import type { ItemInput, ProcessorContext } from '../../../src/ingest/items/processing/processors/types.ts';
import { normalizedFields } from '../../../src/kernel/rows/normalized-fields.ts';
import type { GuardedFetch } from '../../../src/lib/fetch/guarded-fetch.ts';

const unreachable = () => {
  throw new Error('this processor must not reach outside');
};

/** A context that makes no outgoing calls except through what the test provides. */
export function processorContext(changes: Partial<ProcessorContext> = {}): ProcessorContext {
  return {
    signal: new AbortController().signal,
    tenantId: 't1',
    jobId: 'j1',
    assertHeld: async () => {},
    fetch: unreachable as unknown as GuardedFetch,
    secret: unreachable,
    log: unreachable,
    ...changes,
  };
}

/** Items 1, 2, 3 … with these inputs, on their first try. */
export function itemsOf(...inputs: Record<string, unknown>[]): ItemInput[] {
  return inputs.map((input, index) => ({
    id: index + 1,
    rowNo: index + 1,
    input,
    inputJson: JSON.stringify(input),
    normalized: normalizedFields(JSON.stringify(input)),
    attempts: 1,
    strategy: 0,
  }));
}
