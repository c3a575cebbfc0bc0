import { bug, defineErrors } from '../../lib/errors.ts';

export const limitErrors = defineErrors({
  impossible_limit: bug(
    'A rate limit is set to something that cannot be kept',
    'Set the limit and its window to values in the range that the message names.',
  ),
});
