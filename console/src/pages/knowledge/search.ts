import { oneOf, searchParser, text } from '../../list-state.ts';

export interface KnowledgeSearch {
  q: string;
}

export const knowledgeSearch = searchParser<KnowledgeSearch>({
  q: text(),
});

export const documentStates = ['indexed', 'empty', 'error', 'gone'] as const;
export const searchModes = ['hybrid', 'vector', 'text'] as const;

export interface KnowledgeBaseSearch {
  tab: 'documents' | 'sources' | 'files';
  /** The question to the base. */
  q: string;
  mode: (typeof searchModes)[number];
  state: (typeof documentStates)[number];
  document: string;
  /** The chunk to show in place, by its first character. */
  at: string;
}

export const knowledgeBaseSearch = searchParser<KnowledgeBaseSearch>({
  tab: oneOf(['documents', 'sources', 'files']),
  q: text(),
  mode: oneOf(searchModes),
  state: oneOf(documentStates),
  document: text(),
  at: text(),
});
