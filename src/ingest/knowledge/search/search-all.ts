import { isSluiceError } from '../../../lib/errors.ts';
import type { TenantView } from '../../../lib/postgres/db.ts';
import { knowledgeErrors } from '../errors.ts';
import { compileFilter } from '../labels/filter.ts';
import { listKbs } from '../store.ts';
import type { KnowledgeBase } from '../types.ts';
import { countFacets, type Facet } from './facets.ts';
import type { SearchResult } from './results.ts';
import { type SearchDeps, type SearchMode, searchKnowledge } from './search.ts';

export interface SearchAllRequest extends TenantView {
  query: string;
  /** Null: all of them. */
  kbIds: readonly string[] | null;
  limit: number;
  mode: SearchMode;
  filter?: unknown;
  /** Fields of the metadata to count, beside base and format. */
  facets: readonly string[];
  merge?: boolean;
  sentences?: boolean;
  rerank?: boolean;
  signal: AbortSignal;
}

export interface FoundInBase extends SearchResult {
  base: { kb_id: string; name: string };
}

export interface SearchAllAnswer {
  results: FoundInBase[];
  facets: Facet[];
  notes: string[];
}

const maxBases = 50;
const basesAtOnce = 4;
/** Facets count what each knowledge base finds, and not only what is shown. */
const foundPerBase = 50;

/** The best results of several knowledge bases. One that cannot be searched is named in a note. */
export async function searchAll(deps: SearchDeps, request: SearchAllRequest): Promise<SearchAllAnswer> {
  // Wrong for one is wrong for all.
  if (request.filter !== undefined) compileFilter(request.filter);
  const { bases, notes } = await chooseBases(deps, request);
  const found: FoundInBase[][] = [];
  for (let from = 0; from < bases.length; from += basesAtOnce) {
    const some = bases.slice(from, from + basesAtOnce);
    found.push(...(await Promise.all(some.map((base) => searchBase(deps, base, { request, notes })))));
  }
  const isComparable = request.mode !== 'text' && new Set(bases.map(scaleOf)).size <= 1;
  const all = isComparable ? byScore(found.flat()) : byTurns(found);
  return {
    results: all.slice(0, request.limit),
    facets: countFacets(all, request.facets),
    notes: [...new Set(notes)],
  };
}

async function chooseBases(
  { db }: SearchDeps,
  { tenantId, kbIds }: SearchAllRequest,
): Promise<{ bases: KnowledgeBase[]; notes: string[] }> {
  const limit = 10_000;
  const all = await db.read(tenantId, (tx) => listKbs(tx, { tenantId, after: null, limit }));
  const unknown = (kbIds ?? []).find((id) => !all.some(({ kbId }) => kbId === id));
  if (unknown !== undefined) {
    throw knowledgeErrors.raise.knowledge_base_not_found(`There is no knowledge base ${unknown}`);
  }
  const chosen = kbIds === null ? all : all.filter(({ kbId }) => kbIds.includes(kbId));
  const isMore = chosen.length > maxBases;
  const notes = isMore
    ? [`Only the first ${maxBases} of ${chosen.length} knowledge bases were searched; name others in kb_ids.`]
    : [];
  return { bases: chosen.slice(0, maxBases), notes };
}

async function searchBase(
  deps: SearchDeps,
  { kbId, name }: KnowledgeBase,
  { request, notes }: { request: SearchAllRequest; notes: string[] },
): Promise<FoundInBase[]> {
  const { tenantId, groups, query, mode, filter, merge, sentences, rerank, signal } = request;
  const limit = foundPerBase;
  try {
    const { results, notes: own = [] } = await searchKnowledge(deps, {
      tenantId,
      groups,
      kbId,
      query,
      mode,
      limit,
      merge,
      sentences,
      rerank,
      highlight: true,
      signal,
      ...(filter === undefined ? {} : { filter }),
    });
    notes.push(...own.map((note) => `${name}: ${note}`));
    return results.map((result) => ({ ...result, base: { kb_id: kbId, name } }));
  } catch (error) {
    const isOurs = isSluiceError(error) && error.code !== 'search_query_refused' && !signal.aborted;
    if (!isOurs) throw error;
    notes.push(`Knowledge base ${name} could not be searched: ${error.definition.title}.`);
    return [];
  }
}

/** What makes the scores. */
function scaleOf({ embedder, reranker }: KnowledgeBase): string {
  return JSON.stringify([embedder, reranker]);
}

/** Scores of one embedder and reranker mean the same in all knowledge bases. */
function byScore(found: readonly FoundInBase[]): FoundInBase[] {
  return found.toSorted((one, other) => other.score - one.score);
}

/** Otherwise only the places within each knowledge base can be compared: the best of each come first. */
function byTurns(found: readonly (readonly FoundInBase[])[]): FoundInBase[] {
  return found
    .flatMap((results) => results.map((result, place) => ({ result, place })))
    .toSorted((one, other) => one.place - other.place)
    .map(({ result }) => result);
}
