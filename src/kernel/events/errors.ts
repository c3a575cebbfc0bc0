import { defineErrors } from '../../lib/errors.ts';

export const eventErrors = defineErrors({
  invalid_event_position: {
    kind: 'invalid',
    status: 400,
    title: 'This is not a position in the event log',
    next: 'Use the id of an event that you have received, or leave it out.',
  },
  too_many_streams: {
    kind: 'rate_limited',
    status: 429,
    title: 'Too many live streams are open',
    next: 'Close a stream that is not needed, for instance by closing browser tabs, and try again.',
  },
});
