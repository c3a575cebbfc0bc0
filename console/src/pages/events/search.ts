import { searchParser, text } from '../../list-state.ts';

export interface EventsSearch {
  /** Types as the API takes them: `job.*,upload.failed`. */
  type: string;
  subject: string;
  /** The id of the event that the drawer shows. */
  event: string;
}

export const eventsSearch = searchParser<EventsSearch>({ type: text(), subject: text(), event: text() });
