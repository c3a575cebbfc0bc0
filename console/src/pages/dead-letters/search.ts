import { searchParser, text } from '../../list-state.ts';

export interface DeadLettersSearch {
  error_code: string;
  pipeline: string;
}

export const deadLettersSearch = searchParser<DeadLettersSearch>({ error_code: text(), pipeline: text() });
