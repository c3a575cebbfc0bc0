import { bug, defineErrors, invalid, transient } from '../../../../lib/errors.ts';

export const processorErrors = defineErrors({
  processor_unknown: invalid(
    'There is no such processor',
    'Use one of the names in the message, or register a processor under this name in sluice.config.mjs.',
  ),
  processor_options_invalid: invalid(
    'The options of the processor are not valid',
    'Correct the options that `errors` points at.',
  ),
  processor_definition_invalid: invalid(
    'A processor in the configuration is not usable',
    'Correct `processors` in sluice.config.mjs as the message says, and start again.',
  ),
  processor_failed: bug(
    'A processor threw an unexpected error',
    'Read the error of the item, fix the processor, and reprocess the items that ran out of attempts.',
  ),
  row_check_failed: transient(
    'The thread that checks rows ended',
    'Nothing: the rows are tried again. If it happens repeatedly, give the process more memory.',
  ),
  processor_misbehaved: bug(
    'A processor returned something that is not an outcome',
    'Make the processor return one outcome per item, in order; the message says what it returned instead.',
  ),
});
