import { z } from 'zod';
import { clientSignal } from '../../../kernel/http/client-signal.ts';
import { problems } from '../../../kernel/http/replies.ts';
import { principalOf, type RouteApp, type RouteModule } from '../../../kernel/http/route.ts';
import { storedText } from '../../../kernel/http/stored-text.ts';
import { viewOf } from '../../../kernel/tenancy/types.ts';
import { kbKeyOf, kbParams, knowledgeFormParts } from '../bases/form.ts';
import { filterForm } from '../labels/form.ts';
import { searchAllReply, searchReply } from '../views.ts';
import { type SearchDeps, searchKnowledge, searchModes } from './search.ts';
import { searchAll } from './search-all.ts';

const citationFields = {
  merge: z.boolean().default(true).describe('Makes one result of neighbouring passages of a document'),
  sentences: z
    .boolean()
    .default(false)
    .describe('Adds to each result its sentence that is nearest in meaning; asks the embedder once more'),
  rerank: z.boolean().default(true).describe('False: does not ask the reranker of the knowledge base'),
};

export function searchRoutes(deps: SearchDeps): RouteModule {
  return (app) => {
    installSearchAll(app, deps);
    app.route({
      method: 'POST',
      url: '/api/knowledge/:kb_id/search',
      config: { action: 'knowledge.search', share: 'searches' },
      schema: {
        tags: ['knowledge'],
        summary: 'Search a knowledge base by meaning, by words, or by both',
        params: kbParams,
        body: z.strictObject({
          query: z.string().min(1),
          limit: z.int().min(1).max(50).default(10),
          mode: z.enum(searchModes).default('hybrid'),
          filter: filterForm.optional(),
          explain: z.boolean().default(false).describe('Adds to each result how its score came about'),
          ...citationFields,
        }),
        response: { 200: searchReply, ...problems(404, 413, 415, 422) },
      },
      handler: (request, reply) =>
        searchKnowledge(deps, {
          ...kbKeyOf(request),
          ...request.body,
          highlight: true,
          signal: clientSignal(reply),
        }),
    });
  };
}

const facetFields = z.array(storedText(100).min(1)).max(10).default([]);

function installSearchAll(app: RouteApp, deps: SearchDeps): void {
  app.route({
    method: 'POST',
    url: '/api/knowledge/search',
    config: { action: 'knowledge.search', share: 'searches' },
    schema: {
      tags: ['knowledge'],
      summary:
        'Search all knowledge bases, or some of them, and count what was found by base, format and metadata',
      body: z.strictObject({
        query: z.string().min(1),
        kb_ids: z.array(knowledgeFormParts.id).min(1).max(50).optional().describe('Default: all'),
        limit: z.int().min(1).max(50).default(10),
        mode: z.enum(searchModes).default('hybrid'),
        filter: filterForm.optional(),
        facets: facetFields.describe('Fields of the metadata to count, beside base and format'),
        ...citationFields,
      }),
      response: { 200: searchAllReply, ...problems(404, 413, 415, 422) },
    },
    handler: (request, reply) => {
      const { kb_ids: kbIds = null, ...wish } = request.body;
      return searchAll(deps, {
        ...viewOf(principalOf(request)),
        ...wish,
        kbIds,
        signal: clientSignal(reply),
      });
    },
  });
}
