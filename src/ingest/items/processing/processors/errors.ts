import { defineErrors } from '../../../../lib/errors.ts';

export const processorErrors = defineErrors({
  processor_unknown: {
    kind: 'invalid',
    status: 422,
    title: 'There is no such processor',
    next: 'Use one of the names in the message, or register a processor under this name in sluice.config.mjs.',
  },
  processor_options_invalid: {
    kind: 'invalid',
    status: 422,
    title: 'The options of the processor are not valid',
    next: 'Correct the options that `errors` points at.',
  },
  processor_definition_invalid: {
    kind: 'invalid',
    status: 422,
    title: 'A processor in the configuration is not usable',
    next: 'Correct `processors` in sluice.config.mjs as the message says, and start again.',
  },
  processor_failed: {
    kind: 'bug',
    status: 500,
    title: 'A processor threw an unexpected error',
    next: 'Read the error of the item, fix the processor, and reprocess the items that ran out of attempts.',
  },
  processor_misbehaved: {
    kind: 'bug',
    status: 500,
    title: 'A processor returned something that is not an outcome',
    next: 'Make the processor return one outcome per item, in order; the message says what it returned instead.',
  },
});
