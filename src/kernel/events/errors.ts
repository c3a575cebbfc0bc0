import { defineErrors, invalid, rateLimited } from '../../lib/errors.ts';

export const eventErrors = defineErrors({
  invalid_event_position: invalid(
    'This is not a position in the event log',
    'Use the id of an event that you have received, or leave it out.',
    400,
  ),
  too_many_streams: rateLimited(
    'Too many live streams are open',
    'Close a stream that is not needed, for instance by closing browser tabs, and try again.',
  ),
});
