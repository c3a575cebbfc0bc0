// BM25 by a library that is not ours, with Porter's stemmer and a list of stop words, over the same passages.
import MiniSearch from 'minisearch';
import { stemmer } from 'stemmer';
import { eng, removeStopwords } from 'stopword';

/** `passages`: `{ id, document, text }`. Returns a function from a question to the documents of the best passages. */
export function openPeer(passages) {
  const index = new MiniSearch({
    fields: ['text'],
    storeFields: ['document'],
    processTerm: (term) => {
      const lower = term.toLowerCase();
      return removeStopwords([lower], eng).length === 0 ? null : stemmer(lower);
    },
    searchOptions: { bm25: { k: 1.2, b: 0.75, d: 0 }, combineWith: 'OR' },
  });
  index.addAll(passages);
  return (question) => index.search(question).map(({ document }) => document);
}
