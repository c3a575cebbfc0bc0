import { z } from 'zod';
import { problems } from '../http/replies.ts';
import { principalOf, type RouteModule } from '../http/route.ts';
import { storedText } from '../http/stored-text.ts';
import { type FindDeps, findEverywhere, lookedThrough } from './service.ts';

const foundReply = z.object({
  data: z.array(
    z.object({
      kind: z.string().describe('upload, job, knowledge_base, document, connector, …'),
      id: z.string(),
      name: z.string(),
      url: z.string().describe('Its page in the console, from the root of the server'),
    }),
  ),
});

/** One search box for everything that has a name or an id. */
export function findRoutes(deps: FindDeps): RouteModule {
  return (app) => {
    app.route({
      method: 'GET',
      url: '/api/search',
      // The first thing that everybody may do; what is found depends on the rights that each kind asks for.
      config: { action: 'tenant.read_own', share: 'searches' },
      schema: {
        tags: ['search'],
        summary: 'Find anything by name or id',
        description:
          'Finds uploads, jobs, knowledge bases, documents, connectors, sources, adapters, webhooks, campaigns and ' +
          'more whose name or id has all the words, as far as the caller may see them. An id finds its thing however ' +
          `old it is; words look through the newest ${lookedThrough.toLocaleString('en')} things of each kind. ` +
          'For what documents say, use `POST /api/knowledge/search`.',
        querystring: z.strictObject({
          q: storedText(200).describe('Words of a name, or an id'),
          limit: z.coerce.number().int().min(1).max(100).default(30),
        }),
        response: { 200: foundReply, ...problems() },
      },
      handler: async (request) => {
        const { q: text, limit } = request.query;
        return { data: await findEverywhere(deps, { principal: principalOf(request), text, limit }) };
      },
    });
  };
}
