import type { Tx } from '../../../lib/postgres/db.ts';
import type { Metadata } from '../labels/types.ts';
import type { GenerationKey } from '../types.ts';
import { type Ranked, wordScore } from './fusion.ts';
import { parseQuestion } from './question.ts';
import { type FoundChunk, type FoundPlace, listFoundChunks, listWordMatches } from './store.ts';

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
  candidates: readonly Ranked[];
  search: {
    query: string;
    mode: string;
    limit: number;
    explain: boolean;
    filter: { path: string } | null;
    /** The explanation leaves out how many passages have a word. */
    hidesCounts: boolean;
  };
}

/** In rounds: nearly always the first round has enough chunks of current documents. */
export async function describe(
  tx: Tx,
  space: GenerationKey,
  { candidates, search }: Described,
): Promise<SearchResult[]> {
  const { limit } = search;
  const filter = search.filter?.path ?? null;
  const ranked = new Map(candidates.map((candidate) => [candidate.chunkId, candidate]));
  const ids = [...ranked.keys()];
  const found: FoundChunk[] = [];
  for (let from = 0; from < ids.length && found.length < limit; from += limit) {
    found.push(...(await listFoundChunks(tx, space, { chunkIds: ids.slice(from, from + limit), filter })));
  }
  const shown = found.slice(0, limit);
  const explanations = search.explain
    ? await explain(tx, space, { ranked, search, chunkIds: shown.map(({ chunkId }) => chunkId) })
    : null;
  return shown.map((chunk) => ({
    text: chunk.text,
    score: ranked.get(chunk.chunkId)?.score ?? 0,
    document: {
      document_id: chunk.documentId,
      uri: chunk.uri,
      title: chunk.title,
      metadata: chunk.metadata,
    },
    heading_path: chunk.headingPath,
    start: chunk.startAt,
    end: chunk.endAt,
    ...(chunk.alsoIn.length > 0 ? { also_in: chunk.alsoIn } : {}),
    ...(explanations ? { explanation: explanations.get(chunk.chunkId) } : {}),
  }));
}

async function explain(
  tx: Tx,
  space: GenerationKey,
  {
    ranked,
    search,
    chunkIds,
  }: { ranked: ReadonlyMap<number, Ranked>; search: Described['search']; chunkIds: readonly number[] },
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
