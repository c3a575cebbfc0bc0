import { defineErrors, invalid } from '../../../lib/errors.ts';

export const figureErrors = defineErrors({
  grouping_not_possible: invalid(
    'These figures cannot be grouped like that',
    'Choose one of the groupings that the message names. Reports without a day are `kind=period`.',
    400,
  ),
  range_reversed: invalid('The first day is after the last day', 'Exchange `from` and `to`.', 400),
});
