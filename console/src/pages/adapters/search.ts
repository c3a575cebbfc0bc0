import { oneOf, searchParser, text } from '../../list-state.ts';

export interface AdaptersSearch {
  q: string;
}

export const adaptersSearch = searchParser<AdaptersSearch>({ q: text() });

export const fileStates = ['waiting', 'ingested', 'duplicate', 'failed'] as const;

export interface AdapterSearch {
  state: (typeof fileStates)[number];
}

export const adapterSearch = searchParser<AdapterSearch>({ state: oneOf(fileStates) });
