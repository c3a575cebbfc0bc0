import { bug, defineErrors } from '../../lib/errors.ts';

export const limitErrors = defineErrors({
  impossible_limit: bug(
    'A rate limit is outside the possible range',
    'Set the limit and its window to values within the range that the message names.',
  ),
});
