import { availableParallelism } from 'node:os';
import { TenantSlots } from '../../../kernel/limits/tenant-slots.ts';
import { isSluiceError } from '../../../lib/errors.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import type { EmbedderSettings } from '../embedders/embedder.ts';
import { settingsOfIndex } from '../embedders/local-models.ts';
import { knowledgeErrors } from '../errors.ts';
import type { VectorSpace } from '../index/vector/engine.ts';
import type { KnowledgeWorkerDeps } from '../run/deps.ts';
import type { KbKey } from '../types.ts';
import { listCandidates } from './candidates.ts';
import { describe, type SearchResult } from './results.ts';
import { findServingIndex } from './store.ts';

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
  /** Adds to each result how its score came about. */
  explain?: boolean;
  signal?: AbortSignal;
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
    explain: request.explain ?? false,
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

type Search = Required<SearchRequest>;

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
          const { query, mode, signal } = search;
          const asked = { space: now.space, isCounted: now.isCounted, query, mode, vector, signal };
          const candidates = await listCandidates(deps.engine, tx, asked);
          return describe(tx, now.space, { candidates, search });
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
): Promise<{ space: VectorSpace; embedder: EmbedderSettings; isCounted: boolean } | null> {
  const serving = await findServingIndex(tx, { tenantId, kbId });
  if (serving === null) {
    throw knowledgeErrors.raise.knowledge_base_not_found(`There is no knowledge base ${kbId}`);
  }
  const { generation, dimensions, embedder, isCounted } = serving;
  if (generation === null || dimensions === null) return null;
  const space = { tenantId, kbId, generation, dimensions };
  return { space, embedder: settingsOfIndex(embedder as EmbedderSettings), isCounted };
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
