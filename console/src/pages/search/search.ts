import { oneOf, searchParser, text } from '../../list-state.ts';

export interface SearchEverywhere {
  q: string;
  mode: 'hybrid' | 'vector' | 'text';
  /** What the person has chosen beside the results. */
  base: string;
  format: string;
}

export const searchEverywhere = searchParser<SearchEverywhere>({
  q: text(),
  mode: oneOf(['hybrid', 'vector', 'text']),
  base: text(),
  format: text(),
});
