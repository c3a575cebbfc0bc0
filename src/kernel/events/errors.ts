import { conflict, defineErrors, invalid, rateLimited } from '../../lib/errors.ts';

export const eventErrors = defineErrors({
  invalid_event_position: invalid(
    'This is not a position in the event log',
    'Use the id of an event that you have received, or leave it out.',
    400,
  ),
  event_position_lost: conflict(
    'The event log does not contain this position any more',
    'The database was restored or recovered to an earlier moment. Read the log again from the beginning or from the ' +
      'last event that is still in it, and skip events whose ids you know.',
    410,
  ),
  event_position_expired: conflict(
    'The position is older than the event log',
    'Start without a position, and load the present state of what you follow.',
    410,
  ),
  too_many_streams: rateLimited(
    'Too many live streams are open',
    'Close a stream that is not needed, for instance by closing browser tabs, and try again.',
  ),
});
