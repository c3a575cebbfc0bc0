import { searchParser, text } from '../../list-state.ts';

/** The source that is shown. */
export const sourcesSearch = searchParser<{ source: string }>({ source: text() });
