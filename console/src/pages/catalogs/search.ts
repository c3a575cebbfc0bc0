import { searchParser, text } from '../../list-state.ts';

export interface CatalogsSearch {
  /** The name of the catalogue that is shown. */
  catalog: string;
}

export const catalogsSearch = searchParser<CatalogsSearch>({ catalog: text() });
