import { searchParser, text } from '../../list-state.ts';

export interface LoginSearch {
  to: string;
  /** `link` for a login link, otherwise the code of a refused sign-in. */
  refused: string;
}

export const loginSearch = searchParser<LoginSearch>({
  to: text(),
  refused: errorCode,
});

/** Nothing that somebody else wrote into a link is shown. */
function errorCode(value: string): string | undefined {
  return /^[a-z_]{1,60}$/.test(value) ? value : undefined;
}
