import { searchParser, text } from '../../list-state.ts';

export interface ProvidersSearch {
  /** The host whose limits are being edited. */
  provider: string;
}

export const providersSearch = searchParser<ProvidersSearch>({ provider: text() });
