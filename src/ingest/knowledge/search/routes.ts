import { z } from 'zod';
import { clientSignal } from '../../../kernel/http/client-signal.ts';
import { problems } from '../../../kernel/http/replies.ts';
import type { RouteModule } from '../../../kernel/http/route.ts';
import { kbKeyOf, kbParams } from '../bases/form.ts';
import { filterForm } from '../labels/form.ts';
import { searchReply } from '../views.ts';
import { type SearchDeps, searchKnowledge, searchModes } from './search.ts';

export function searchRoutes(deps: SearchDeps): RouteModule {
  return (app) => {
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
        }),
        response: { 200: searchReply, ...problems(404, 413, 415, 422) },
      },
      handler: (request, reply) =>
        searchKnowledge(deps, { ...kbKeyOf(request), ...request.body, signal: clientSignal(reply) }),
    });
  };
}
