import { z } from 'zod';
import { clientSignal } from '../../../kernel/http/client-signal.ts';
import { problems } from '../../../kernel/http/replies.ts';
import { principalOf, type RouteModule } from '../../../kernel/http/route.ts';
import { viewOf } from '../../../kernel/tenancy/types.ts';
import { knowledgeFormParts } from '../bases/form.ts';
import { filterOfOpenAi, hitOf, openAiSearchForm, openAiSearchReply } from './openai-search.ts';
import type { SearchResult } from './results.ts';
import { type SearchDeps, searchKnowledge } from './search.ts';

/** Programs that search OpenAI's vector stores can search a knowledge base: `base_url` is this server’s `/v1`. */
export function openAiRoutes(deps: SearchDeps): RouteModule {
  return (app) => {
    app.route({
      method: 'POST',
      url: '/v1/vector_stores/:vector_store_id/search',
      config: { action: 'knowledge.search', share: 'searches' },
      schema: {
        tags: ['knowledge'],
        summary: 'Search a knowledge base as a vector store of OpenAI',
        params: z.strictObject({ vector_store_id: knowledgeFormParts.id.describe('A kb_id') }),
        body: openAiSearchForm,
        response: { 200: openAiSearchReply, ...problems(404, 413, 415, 422) },
      },
      handler: async (request, reply) => {
        const { query, filters, max_num_results: limit, ranking_options: ranking } = request.body;
        const queries = [query].flat();
        const kbId = request.params.vector_store_id;
        const signal = clientSignal(reply);
        const filter = filters ? { filter: filterOfOpenAi(filters) } : {};
        const found: SearchResult[][] = [];
        for (const one of queries) {
          const rerank = ranking?.ranker !== 'none';
          const asked = {
            ...viewOf(principalOf(request)),
            kbId,
            query: one,
            limit,
            rerank,
            signal,
            ...filter,
          };
          found.push((await searchKnowledge(deps, asked)).results);
        }
        const least = ranking?.score_threshold ?? 0;
        const data = best(found.flat())
          .slice(0, limit)
          .map(hitOf)
          .filter(({ score }) => score >= least);
        return {
          object: 'vector_store.search_results.page' as const,
          search_query: queries,
          data,
          has_more: false,
          next_page: null,
        };
      },
    });
  };
}

/** A passage that several queries find is one result, with its best score. */
function best(found: readonly SearchResult[]): SearchResult[] {
  const byPlace = new Map<string, SearchResult>();
  for (const result of found) {
    const place = `${result.document.document_id} ${result.start}`;
    const known = byPlace.get(place);
    if (known === undefined || result.score > known.score) byPlace.set(place, result);
  }
  return [...byPlace.values()].toSorted((one, other) => other.score - one.score);
}
