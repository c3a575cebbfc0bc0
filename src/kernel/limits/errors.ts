import { bug, defineErrors, rateLimited } from '../../lib/errors.ts';

export const limitErrors = defineErrors({
  impossible_limit: bug(
    'A rate limit is outside the possible range',
    'Set the limit and its window to values within the range that the message names.',
  ),
  tenant_busy: rateLimited(
    'The tenant has too much of this at work already',
    'Wait as long as Retry-After says and send it again. The operator sets the limit with what `setting` names.',
  ),
});
