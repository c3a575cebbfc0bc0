import { defineErrors } from '../../lib/errors.ts';

export const limitErrors = defineErrors({
  impossible_limit: {
    kind: 'bug',
    status: 500,
    title: 'A rate limit is set to something that cannot be kept',
    next: 'Set the limit and its window to values in the range that the message names.',
  },
});
