import { z } from 'zod';
import { parseOptions } from './options.ts';
import { type Processor, sameAsInput } from './types.ts';

const schema = z.strictObject({});

/** Returns the input as the result; for trials and benchmarks. */
export const noopProcessor: Processor = {
  name: 'noop',
  isPure: true,
  validateOptions: (options) => parseOptions(schema, { processor: 'noop', options }),
  process: async (items) => items.map(() => ({ status: 'DONE', result: sameAsInput })),
};
