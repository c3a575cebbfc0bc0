import { availableParallelism } from 'node:os';
import { TenantSlots } from '../../../kernel/limits/tenant-slots.ts';
import { isSluiceError } from '../../../lib/errors.ts';
import type { TenantView, Tx } from '../../../lib/postgres/db.ts';
import type { EmbedderSettings } from '../embedders/embedder.ts';
import { settingsOfIndex } from '../embedders/local-models.ts';
import { knowledgeErrors } from '../errors.ts';
import type { VectorSpace } from '../index/vector/engine.ts';
import { compileFilter, type DocumentFilter } from '../labels/filter.ts';
import { findMatchingPassages } from '../labels/store.ts';
import { unknownFieldNotes } from '../labels/unknown-fields.ts';
import type { Rerankers } from '../rerankers/open-reranker.ts';
import type { RerankerSettings } from '../rerankers/reranker.ts';
import type { KnowledgeWorkerDeps } from '../run/deps.ts';
import type { KbKey } from '../types.ts';
import { listCandidates } from './candidates.ts';
import type { Ranked } from './fusion.ts';
import { findBestSentences } from './highlights.ts';
import type { ScoredChunk } from './neighbours.ts';
import { collect, type Described, describe, type SearchResult } from './results.ts';
import { findServingIndex } from './store.ts';

/** `vector` searches by meaning, `text` by words, `hybrid` by meaning with some weight for words. */
export const searchModes = ['vector', 'text', 'hybrid'] as const;
export type SearchMode = (typeof searchModes)[number];

export interface SearchDeps extends Pick<KnowledgeWorkerDeps, 'db' | 'engine' | 'embedders'> {
  /** Turns at the index, which takes a core of the database or of this process. Between tenants by turns. */
  turns: TenantSlots;
  /** Absent: nothing is ordered anew. */
  rerankers?: Pick<Rerankers, 'rerank'>;
}

export interface SearchRequest extends KbKey, TenantView {
  query: string;
  /** Over the metadata of documents; see `compileFilter`. */
  filter?: unknown;
  limit?: number;
  mode?: SearchMode;
  /** Adds to each result how its score came about. */
  explain?: boolean;
  /** Makes one result of neighbouring passages of a document. */
  merge?: boolean;
  /** Adds to each result where the words of the query are. */
  highlight?: boolean;
  /** Adds to each result the sentence that is nearest in meaning; the embedder is asked once more. */
  sentences?: boolean;
  /** False: the order of the search, although the knowledge base has a reranker. */
  rerank?: boolean;
  signal?: AbortSignal;
}

const maxQueryLength = 8_000;
const maxLimit = 50;
const searchLimitMs = 30_000;

/** Best results first; empty before the first run has ended. */
export async function searchKnowledge(deps: SearchDeps, request: SearchRequest): Promise<SearchAnswer> {
  const search: Search = {
    tenantId: request.tenantId,
    kbId: request.kbId,
    groups: request.groups,
    filter: request.filter === undefined ? null : compileFilter(request.filter),
    query: checkedQuery(request.query),
    limit: Math.min(maxLimit, Math.max(1, request.limit ?? 10)),
    mode: request.mode ?? 'hybrid',
    explain: request.explain ?? false,
    merge: request.merge ?? false,
    highlight: request.highlight ?? false,
    sentences: request.sentences ?? false,
    rerank: request.rerank ?? true,
    signal: AbortSignal.any([request.signal ?? [], AbortSignal.timeout(searchLimitMs)].flat()),
  };
  try {
    return await searchServingIndex(deps, search);
  } catch (error) {
    // The reason is the caller’s own when it has gone.
    const isLate = search.signal.aborted && error === search.signal.reason && !isSluiceError(error);
    if (!isLate) throw error;
    throw knowledgeErrors.raise.search_timed_out(
      `The search in ${search.kbId} took longer than its time limit`,
      {
        cause: error,
      },
    );
  }
}

/**
 * A search at the index keeps a core busy. Running more of them than there are cores makes each slower, and with it
 * another tenant's, which would have to share with all of them. One turn is always left for another tenant, which then
 * does not even wait for one to end.
 */
export function createSearchTurns(): TenantSlots {
  const total = Math.max(2, availableParallelism());
  return new TenantSlots({
    what: 'searches',
    setting: 'TENANT_CONCURRENT_SEARCHES',
    perTenant: total - 1,
    total,
    maxWaiting: 10_000,
  });
}

export interface SearchAnswer {
  results: SearchResult[];
  /** Whether the reranker of the knowledge base has ordered them; absent if it has none. */
  reranked?: boolean;
  /** What the caller should know of the results, in sentences; absent if there is nothing. */
  notes?: string[];
}

interface Search extends Required<Omit<SearchRequest, 'filter' | 'groups'>>, TenantView {
  filter: DocumentFilter | null;
}

function checkedQuery(query: string): string {
  if (query.length > maxQueryLength) {
    throw knowledgeErrors.raise.search_query_refused(
      `The query has ${query.length} characters; at most ${maxQueryLength} are allowed`,
    );
  }
  if (/[\0\p{Surrogate}]/u.test(query)) {
    throw knowledgeErrors.raise.search_query_refused(
      'The query contains a NUL character or a broken surrogate pair',
    );
  }
  if (query.trim() === '') {
    throw knowledgeErrors.raise.search_query_refused('The query is empty');
  }
  return query;
}

/** How often the index may be replaced while the query is being embedded. */
const maxTries = 3;

async function searchServingIndex(deps: SearchDeps, search: Search): Promise<SearchAnswer> {
  for (let attempt = 0; attempt < maxTries; attempt += 1) {
    const serving = await deps.db.tenant(search, (tx) => findSpace(tx, search));
    if (serving === null) return { results: [] };
    // Outside of any transaction: an embedder may be on another machine.
    const vector = search.mode === 'text' ? null : await embedQuery(deps, search, serving.embedder);
    const found = await deps.turns.run(
      search.tenantId,
      () =>
        deps.db.tenant(search, async (tx) => {
          const now = await findSpace(tx, search);
          return now?.space.generation === serving.space.generation
            ? searchIn(deps, tx, { ...now, search, vector })
            : null;
        }),
      search.signal,
    );
    if (found !== null) return present(deps, found, { search, serving, vector });
  }
  throw knowledgeErrors.raise.search_index_moved(
    `The index of knowledge base ${search.kbId} was replaced ${maxTries} times during this search`,
  );
}

/** What a search has found in its turn at the index. */
interface Found {
  space: VectorSpace;
  chunks: ScoredChunk[];
  candidates: Ranked[];
  described: Described;
  notes: string[];
  /** Null: the chunks are in their final order, and `results` are made of them. */
  reranker: RerankerSettings | null;
  results: SearchResult[];
}

async function searchIn(
  deps: SearchDeps,
  tx: Tx,
  {
    space,
    isCounted,
    search,
    vector,
    reranker: wanted,
  }: Serving & { search: Search; vector: Float32Array | null },
): Promise<Found> {
  const { query, mode, filter, signal } = search;
  const eligible = await findMatchingPassages(tx, space, filter?.path ?? null);
  const asked = { space, isCounted, query, mode, vector, eligible, signal };
  const candidates = await listCandidates(deps.engine, tx, asked);
  // How many passages have a word would tell of documents that the caller may not see.
  const hidesCounts = eligible !== null && search.groups !== undefined;
  const described = { ...search, hidesCounts };
  const reranker = search.rerank && deps.rerankers !== undefined ? wanted : null;
  const atLeast = reranker?.candidates ?? 0;
  const chunks = await collect(tx, space, { candidates, search: described, atLeast });
  const notes = filter === null ? [] : await unknownFieldNotes(tx, space, filter.fields);
  const made = { space, candidates, chunks, described, notes, reranker };
  const results =
    reranker === null ? await describe(tx, space, { chunks, candidates, search: described }) : [];
  return { ...made, results };
}

/** Outside of the transaction and of the turn: rerankers and embedders may be on another machine. */
async function present(
  deps: SearchDeps,
  found: Found,
  { search, serving, vector }: { search: Search; serving: Serving; vector: Float32Array | null },
): Promise<SearchAnswer> {
  const { results, reranked, notes } = await orderAnew(deps, found, search);
  if (search.sentences && vector !== null) await addSentences(deps, results, { search, serving, vector });
  return {
    results,
    ...(reranked === null ? {} : { reranked }),
    ...(notes.length > 0 ? { notes } : {}),
  };
}

async function orderAnew(
  deps: SearchDeps,
  found: Found,
  search: Search,
): Promise<{ results: SearchResult[]; reranked: boolean | null; notes: string[] }> {
  const { reranker, chunks, candidates, described, space, notes } = found;
  if (reranker === null || deps.rerankers === undefined)
    return { results: found.results, reranked: null, notes };
  const first = chunks.slice(0, reranker.candidates);
  const texts = first.map(({ title, headingPath, text }) => withHeadings(text, [title, ...headingPath]));
  const { tenantId, query, signal } = search;
  const answer =
    texts.length === 0
      ? { scores: [] }
      : await deps.rerankers.rerank(reranker, { tenantId, query, texts, signal });
  const isOrdered = 'scores' in answer;
  const ordered = isOrdered ? byScore(first, answer.scores) : chunks;
  const results = await deps.db.tenant(search, (tx) =>
    describe(tx, space, { chunks: ordered, candidates, search: described }),
  );
  return { results, reranked: isOrdered, notes: isOrdered ? notes : [...notes, answer.note] };
}

/** A reranker reads what the embedder has read: a passage rarely says what its document is about. */
function withHeadings(text: string, headings: readonly string[]): string {
  const above = [...new Set(headings)].filter((heading) => heading !== '' && !text.includes(heading));
  return above.length === 0 ? text : `${above.join(' > ')}\n${text}`;
}

function byScore(chunks: readonly ScoredChunk[], scores: readonly number[]): ScoredChunk[] {
  return chunks
    .map((chunk, place) => ({ ...chunk, score: scores[place] ?? 0, place }))
    .sort((one, other) => other.score - one.score || one.place - other.place);
}

async function addSentences(
  { embedders }: SearchDeps,
  results: SearchResult[],
  { search, serving, vector }: { search: Search; serving: Serving; vector: Float32Array },
): Promise<void> {
  const embedder = await embedders.get(search.tenantId, serving.embedder);
  const texts = results.map(({ text }) => text);
  const { signal, tenantId } = search;
  const best = await findBestSentences(texts, { embedder, vector, signal, tenantId });
  for (const [index, range] of best.entries()) {
    const result = results[index];
    if (range !== null && result !== undefined) result.best_sentence = range;
  }
}

interface Serving {
  space: VectorSpace;
  embedder: EmbedderSettings;
  isCounted: boolean;
  reranker: RerankerSettings | null;
}

async function findSpace(tx: Tx, { tenantId, kbId }: KbKey): Promise<Serving | null> {
  const serving = await findServingIndex(tx, { tenantId, kbId });
  if (serving === null) {
    throw knowledgeErrors.raise.knowledge_base_not_found(`There is no knowledge base ${kbId}`);
  }
  const { generation, dimensions, embedder, isCounted, reranker } = serving;
  if (generation === null || dimensions === null) return null;
  const space = { tenantId, kbId, generation, dimensions };
  const built = settingsOfIndex(embedder as EmbedderSettings);
  return { space, embedder: built, isCounted, reranker: reranker as RerankerSettings | null };
}

/** Null if the embedder cannot embed the query; a hybrid search then uses only its words. */
async function embedQuery(
  { embedders }: SearchDeps,
  { tenantId, query, mode, signal }: Search,
  settings: EmbedderSettings,
): Promise<Float32Array | null> {
  const embedder = await embedders.get(tenantId, settings);
  try {
    const [vector] = await embedder.embed([query], { signal, tenantId });
    if (vector === undefined) throw new Error(`Embedder ${embedder.provider} returned no vector for a query`);
    return vector;
  } catch (error) {
    if (mode === 'hybrid' && isSluiceError(error) && error.kind === 'invalid') return null;
    throw error;
  }
}
