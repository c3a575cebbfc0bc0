import { availableParallelism } from 'node:os';
import { TenantSlots } from '../../../kernel/limits/tenant-slots.ts';
import { isSluiceError } from '../../../lib/errors.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import type { EmbedderSettings } from '../embedders/embedder.ts';
import { knowledgeErrors } from '../errors.ts';
import type { VectorSpace } from '../index/vector/engine.ts';
import { listVectors } from '../index/vector/exact-store.ts';
import { dotProduct } from '../index/vector/scan.ts';
import { readVector } from '../index/vector/vector-bytes.ts';
import type { KnowledgeWorkerDeps } from '../run/deps.ts';
import type { KbKey } from '../types.ts';
import { type FoundChunk, findServingIndex, listFoundChunks, listTextMatches } from './store.ts';

/** `vector` searches by meaning, `text` by words, `hybrid` by meaning with some weight for words. */
export const searchModes = ['vector', 'text', 'hybrid'] as const;
export type SearchMode = (typeof searchModes)[number];

export interface SearchDeps extends Pick<KnowledgeWorkerDeps, 'db' | 'engine' | 'embedders'> {
  /** Turns at the index, which takes a core of the database or of this process. Between tenants by turns. */
  turns: TenantSlots;
}

export interface SearchRequest extends KbKey {
  query: string;
  limit?: number;
  mode?: SearchMode;
  signal?: AbortSignal;
}

/** A result as the API returns it. */
export interface SearchResult {
  text: string;
  /** Higher is better. Scores of one search can be compared, those of different modes cannot. */
  score: number;
  document: { document_id: string; uri: string; title: string };
  heading_path: string[];
  /** Position in the text of the document; the end is exclusive. */
  start: number;
  end: number;
}

const maxQueryLength = 8_000;
const maxLimit = 50;
const searchLimitMs = 30_000;

/** Best results first; empty before the first run has ended. */
export async function searchKnowledge(
  deps: SearchDeps,
  request: SearchRequest,
): Promise<{ results: SearchResult[] }> {
  const search: Search = {
    tenantId: request.tenantId,
    kbId: request.kbId,
    query: checkedQuery(request.query),
    limit: Math.min(maxLimit, Math.max(1, request.limit ?? 10)),
    mode: request.mode ?? 'hybrid',
    signal: AbortSignal.any([request.signal ?? [], AbortSignal.timeout(searchLimitMs)].flat()),
  };
  try {
    return { results: await searchServingIndex(deps, search) };
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
 * another tenant's, which would have to share with all of them instead of waiting for one.
 */
export function createSearchTurns(): TenantSlots {
  const total = Math.max(2, availableParallelism());
  return new TenantSlots({
    what: 'searches',
    setting: 'TENANT_CONCURRENT_SEARCHES',
    perTenant: total,
    total,
    maxWaiting: 10_000,
  });
}

type Search = Required<SearchRequest>;

interface Candidate {
  chunkId: number;
  score: number;
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

async function searchServingIndex(deps: SearchDeps, search: Search): Promise<SearchResult[]> {
  for (let attempt = 0; attempt < maxTries; attempt += 1) {
    const serving = await deps.db.tenant(search.tenantId, (tx) => findSpace(tx, search));
    if (serving === null) return [];
    // Outside of any transaction: an embedder may be on another machine.
    const vector = search.mode === 'text' ? null : await embedQuery(deps, search, serving.embedder);
    const results = await deps.turns.run(
      search.tenantId,
      () =>
        deps.db.tenant(search.tenantId, async (tx) => {
          const now = await findSpace(tx, search);
          if (now?.space.generation !== serving.space.generation) return null;
          const candidates = await listCandidates(deps, tx, { search, space: serving.space, vector });
          return describe(tx, serving.space, { candidates, limit: search.limit });
        }),
      search.signal,
    );
    if (results !== null) return results;
  }
  throw knowledgeErrors.raise.search_index_moved(
    `The index of knowledge base ${search.kbId} was replaced ${maxTries} times during this search`,
  );
}

async function findSpace(
  tx: Tx,
  { tenantId, kbId }: KbKey,
): Promise<{ space: VectorSpace; embedder: EmbedderSettings } | null> {
  const serving = await findServingIndex(tx, { tenantId, kbId });
  if (serving === null) {
    throw knowledgeErrors.raise.knowledge_base_not_found(`There is no knowledge base ${kbId}`);
  }
  const { generation, dimensions, embedder } = serving;
  if (generation === null || dimensions === null) return null;
  return { space: { tenantId, kbId, generation, dimensions }, embedder: embedder as EmbedderSettings };
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

/** How many candidates of each kind are compared. */
const candidatesPerKind = 200;

/**
 * A few words in common must not outweigh the meaning: at equal weights paraphrases are no longer found. A match of all
 * words counts more: a search for `KX-4410` wants just that. With the local embedder and the 300 documents of
 * test/recall, these weights keep paraphrases as they are (30 of 50 first) and raise names and numbers from 14 of 20 to
 * 18. A weight of 0.1 for both left them at 14.
 */
const textWeight = 0.1;
const wholeMatchWeight = 0.3;

async function listCandidates(
  { engine }: SearchDeps,
  tx: Tx,
  { search, space, vector }: { search: Search; space: VectorSpace; vector: Float32Array | null },
): Promise<Candidate[]> {
  const { query, mode, signal } = search;
  const near =
    vector === null ? [] : await engine.search(tx, space, { vector, limit: candidatesPerKind, signal });
  if (mode === 'vector') return near;
  const matches = await listTextMatches(tx, space, { query, limit: candidatesPerKind });
  if (vector === null) return matches.map(({ chunkId, rank }) => ({ chunkId, score: rank }));
  const scores = new Map(near.map(({ chunkId, score }) => [chunkId, score]));
  const unknown = matches.map(({ chunkId }) => chunkId).filter((chunkId) => !scores.has(chunkId));
  for (const { chunkId, bytes } of await listVectors(tx, space, unknown)) {
    scores.set(chunkId, dotProduct(readVector(bytes), 0, vector));
  }
  for (const { chunkId, rank } of matches) {
    const score = scores.get(chunkId);
    if (score !== undefined) scores.set(chunkId, score + textScore(rank));
  }
  return [...scores]
    .map(([chunkId, score]) => ({ chunkId, score }))
    .sort((a, b) => b.score - a.score || a.chunkId - b.chunkId);
}

/** A rank above 1 means that the chunk contains all words. */
function textScore(rank: number): number {
  return rank > 1 ? wholeMatchWeight + textWeight * (rank - 1) : textWeight * rank;
}

/** In rounds: nearly always the first round has enough chunks of current documents. */
async function describe(
  tx: Tx,
  space: VectorSpace,
  { candidates, limit }: { candidates: readonly Candidate[]; limit: number },
): Promise<SearchResult[]> {
  const scores = new Map(candidates.map(({ chunkId, score }) => [chunkId, score]));
  const ids = [...scores.keys()];
  const found: FoundChunk[] = [];
  for (let from = 0; from < ids.length && found.length < limit; from += limit) {
    found.push(...(await listFoundChunks(tx, space, ids.slice(from, from + limit))));
  }
  return found.slice(0, limit).map((chunk) => ({
    text: chunk.text,
    score: scores.get(chunk.chunkId) ?? 0,
    document: { document_id: chunk.documentId, uri: chunk.uri, title: chunk.title },
    heading_path: chunk.headingPath,
    start: chunk.startAt,
    end: chunk.endAt,
  }));
}
