import type { Tx } from '../../../lib/postgres/db.ts';
import type { Metadata } from '../labels/types.ts';
import type { GenerationKey } from '../types.ts';
import { type Ranked, wordScore } from './fusion.ts';
import { rangesOf, type TextRange } from './highlights.ts';
import { joinNeighbours, type Passage, type ScoredChunk } from './neighbours.ts';
import { linkOf } from './passage-link.ts';
import { parseQuestion } from './question.ts';
import { shownPages } from './shown-pages.ts';
import { type FoundPlace, listFoundChunks, listMatchedWords, listWordMatches } from './store.ts';

/** A result as the API returns it. */
export interface SearchResult {
  text: string;
  /** Higher is better. Scores of one search can be compared, those of different searches cannot. */
  score: number;
  document: { document_id: string; uri: string; title: string; metadata: Metadata };
  heading_path: string[];
  /** Position in the text of the document; the end is exclusive. */
  start: number;
  end: number;
  /** The page or slide that it begins on, and all that it is on; absent if the document has none. */
  page?: number;
  pages?: number[];
  /** Where a person reads it: an address, or a path of this server. */
  link: string;
  /** The words of the question, in the text of this result. */
  highlights?: TextRange[];
  /** The part of the text that is nearest in meaning. */
  best_sentence?: TextRange;
  /** What it was put together from; absent if it is one chunk. */
  passages?: { start: number; end: number; score: number }[];
  /** Other places with the same text; absent if there are none. */
  also_in?: FoundPlace[];
  explanation?: Explanation;
}

/** How a score came about. */
export interface Explanation {
  /** The cosine of the vectors of passage and question; null if they were not compared. */
  similarity: number | null;
  /** The score of the words by BM25: the sum of the scores of the words. */
  bm25: number;
  /** What a passage of average length would get that contains each word of the query once. */
  bm25_of_all_words: number;
  /** What the words add to the similarity in a hybrid search; null in other modes. */
  words_add: number | null;
  /** How many words the passage has, and how many passages of the index have on average. */
  word_count: number | null;
  average_word_count: number | null;
  words: { word: string; passages: number; weight: number; occurrences: number; score: number }[];
}

export interface Described {
  query: string;
  mode: string;
  limit: number;
  explain: boolean;
  /** Neighbouring chunks become one result. */
  merge: boolean;
  highlight: boolean;
  filter: { path: string } | null;
  /** The explanation leaves out how many passages have a word. */
  hidesCounts: boolean;
}

/** Chunks of current documents, best first, in rounds: nearly always the first round has enough. */
export async function collect(
  tx: Tx,
  space: GenerationKey,
  { candidates, search, atLeast = 0 }: { candidates: readonly Ranked[]; search: Described; atLeast?: number },
): Promise<ScoredChunk[]> {
  const filter = search.filter?.path ?? null;
  const scores = new Map(candidates.map(({ chunkId, score }) => [chunkId, score]));
  const ids = [...scores.keys()];
  // A neighbour that is a little less good joins its passage, although others come between.
  const round = Math.max(search.merge ? 2 * search.limit : search.limit, atLeast);
  const found: ScoredChunk[] = [];
  for (let from = 0; from < ids.length; from += round) {
    const chunks = await listFoundChunks(tx, space, { chunkIds: ids.slice(from, from + round), filter });
    found.push(...chunks.map((chunk) => ({ ...chunk, score: scores.get(chunk.chunkId) ?? 0 })));
    const results = joinNeighbours(found, { merges: search.merge }).length;
    if (results >= search.limit && found.length >= atLeast) break;
  }
  return found;
}

/** The results that these chunks make, best first. */
export async function describe(
  tx: Tx,
  space: GenerationKey,
  {
    chunks,
    candidates,
    search,
  }: { chunks: readonly ScoredChunk[]; candidates: readonly Ranked[]; search: Described },
): Promise<SearchResult[]> {
  const passages = joinNeighbours(chunks, { merges: search.merge }).slice(0, search.limit);
  const ranked = new Map(candidates.map((candidate) => [candidate.chunkId, candidate]));
  const chunkIds = passages.map(({ best }) => best.chunkId);
  const explanations = search.explain ? await explain(tx, space, { ranked, search, chunkIds }) : null;
  const { words } = parseQuestion(search.query);
  const texts = passages.map(({ text }) => text);
  const matched = search.highlight ? await listMatchedWords(tx, space, { words, texts }) : null;
  return passages.map((passage, index) => ({
    ...shown(passage, space.kbId),
    ...(matched ? { highlights: rangesOf(passage.text, matched[index] ?? []) } : {}),
    ...(explanations ? { explanation: explanations.get(passage.best.chunkId) } : {}),
  }));
}

function shown({ best, chunks, text }: Passage, kbId: string): SearchResult {
  const [first, last] = [chunks[0] ?? best, chunks.at(-1) ?? best];
  const { documentId, uri, title, metadata, mediaType } = best;
  const start = first.startAt;
  const parts = chunks.map(({ startAt, endAt, score }) => ({ start: startAt, end: endAt, score }));
  return {
    text,
    score: best.score,
    document: { document_id: documentId, uri, title, metadata },
    heading_path: first.headingPath,
    start,
    end: last.endAt,
    ...shownPages(first.pageFrom, last.pageTo),
    link: linkOf({
      kbId,
      documentId,
      uri,
      mediaType,
      address: metadata.url,
      text: best.text,
      start: best.startAt,
      page: best.pageFrom,
    }),
    ...(chunks.length > 1 ? { passages: parts } : {}),
    ...(best.alsoIn.length > 0 ? { also_in: best.alsoIn } : {}),
  };
}

async function explain(
  tx: Tx,
  space: GenerationKey,
  {
    ranked,
    search,
    chunkIds,
  }: { ranked: ReadonlyMap<number, Ranked>; search: Described; chunkIds: readonly number[] },
): Promise<Map<number, Explanation>> {
  const question = parseQuestion(search.query);
  const matches = search.hidesCounts ? [] : await listWordMatches(tx, space, { question, chunkIds });
  return new Map(
    chunkIds.map((chunkId) => {
      const own = matches.filter((match) => match.chunkId === chunkId);
      const candidate = ranked.get(chunkId);
      return [
        chunkId,
        {
          similarity: candidate?.similarity ?? null,
          bm25: search.hidesCounts ? (candidate?.words ?? 0) : own.reduce((sum, { score }) => sum + score, 0),
          bm25_of_all_words: candidate?.whole ?? 0,
          words_add: search.mode === 'hybrid' && candidate?.similarity != null ? wordScore(candidate) : null,
          word_count: own[0]?.wordCount ?? null,
          average_word_count: own[0]?.averageWordCount ?? null,
          words: own.map(({ word, passages, weight, occurrences, score }) => {
            return { word, passages, weight, occurrences, score };
          }),
        },
      ];
    }),
  );
}
