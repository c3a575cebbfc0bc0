import { searchParser, text } from '../../list-state.ts';

export interface CatalogsSearch {
  /** The name of the one that is looked at. */
  catalog: string;
}

export const catalogsSearch = searchParser<CatalogsSearch>({ catalog: text() });
