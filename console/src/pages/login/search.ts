import { oneOf, searchParser, text } from '../../list-state.ts';

export interface LoginSearch {
  to: string;
  refused: 'link';
}

export const loginSearch = searchParser<LoginSearch>({
  to: text(),
  refused: oneOf(['link']),
});
