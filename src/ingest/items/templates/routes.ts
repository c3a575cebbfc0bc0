import { z } from 'zod';
import { problems, timestamp } from '../../../kernel/http/replies.ts';
import { principalOf, type RouteApp } from '../../../kernel/http/route.ts';
import { columnMapping } from '../intake/column-mapping.ts';
import { dropTemplate, keepTemplate, type TemplateDeps, templatesFor } from './service.ts';
import { type ItemTemplate, maxTemplates } from './types.ts';

const tags = ['items'];

const templateName = z
  .string()
  .min(1)
  .max(64)
  .regex(
    /^[\p{L}\p{N}][\p{L}\p{N} ._-]*$/u,
    'must begin with a letter or digit, and have letters, digits, spaces, dots, dashes and underscores',
  );

const params = z.strictObject({ name: templateName });

const templateReply = z
  .object({
    name: z.string(),
    processor: z.string(),
    options: z.looseObject({}),
    mapping: z.record(z.string(), z.string().nullable()).nullable(),
    updatedBy: z.string(),
    updatedAt: timestamp,
  })
  .meta({ id: 'ItemTemplate' });

/** Saved templates: what happens to the rows of a file, under a name. */
export function templateRoutes(app: RouteApp, deps: TemplateDeps): void {
  app.route({
    method: 'GET',
    url: '/api/items/templates',
    config: { action: 'item.read' },
    schema: {
      tags,
      summary: 'List the saved templates of item jobs that the caller may use',
      response: { 200: z.object({ data: z.array(templateReply) }), ...problems() },
    },
    handler: async (request) => ({ data: (await templatesFor(deps, principalOf(request))).map(render) }),
  });
  app.route({
    method: 'PUT',
    url: '/api/items/templates/:name',
    config: { action: 'item.templates', anyKeys: true, takesData: true },
    schema: {
      tags,
      summary: `Save a template of item jobs: processor, options and mapping; at most ${maxTemplates}`,
      params,
      body: z.strictObject({
        processor: z
          .string()
          .min(1)
          .max(100)
          .meta({ examples: ['validate'] }),
        options: z.record(z.string(), z.unknown()).default({}),
        mapping: columnMapping.nullable().default(null),
      }),
      response: { 200: templateReply, ...problems(404, 409, 413, 415, 422) },
    },
    handler: async (request) => {
      const { tenantId, userId, role } = principalOf(request);
      const { name } = request.params;
      const { processor, options, mapping } = request.body;
      const wanted = { tenantId, role, name, processor, options, mapping, updatedBy: userId };
      return render(await keepTemplate(deps, wanted));
    },
  });
  app.route({
    method: 'DELETE',
    url: '/api/items/templates/:name',
    config: { action: 'item.templates' },
    schema: {
      tags,
      summary: 'Delete a saved template; jobs that were made with it stay',
      params,
      response: { 204: z.null(), ...problems(404) },
    },
    handler: async (request, reply) => {
      const { tenantId } = principalOf(request);
      await dropTemplate(deps, { tenantId, name: request.params.name });
      return reply.code(204).send(null);
    },
  });
}

function render({ tenantId: _tenant, updatedAt, ...template }: ItemTemplate): z.output<typeof templateReply> {
  return { ...template, updatedAt: updatedAt.toISOString() };
}
