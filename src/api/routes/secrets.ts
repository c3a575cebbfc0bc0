import { z } from 'zod';
import { problems, timestamp } from '../../kernel/http/replies.ts';
import { principalOf, type RouteModule } from '../../kernel/http/route.ts';
import { storedText } from '../../kernel/http/stored-text.ts';
import type { TenantSecrets } from '../../kernel/secrets/tenant-secrets.ts';
import { toSnakeCase } from '../../lib/snake-case.ts';

const tags = ['secrets'];
const params = z.strictObject({
  name: z
    .string()
    .regex(
      /^[a-z][a-z0-9_]{0,62}$/,
      'must start with a letter and contain only lower-case letters, digits and _',
    ),
});

export function secretRoutes(secrets: TenantSecrets): RouteModule {
  return (app) => {
    app.route({
      method: 'GET',
      url: '/api/secrets',
      config: { action: 'secret.manage' },
      schema: {
        tags,
        summary: 'List the names of stored secrets; the secrets are never shown',
        response: {
          200: z.object({
            data: z.array(z.object({ name: z.string(), updated_by: z.string(), updated_at: timestamp })),
          }),
          ...problems(),
        },
      },
      handler: async (request) => {
        return { data: (await secrets.list(principalOf(request).tenantId)).map(toSnakeCase) };
      },
    });
    app.route({
      method: 'PUT',
      url: '/api/secrets/:name',
      config: { action: 'secret.manage' },
      schema: {
        tags,
        summary: 'Store a secret, encrypted; it can be replaced but not read',
        params,
        body: z.strictObject({ value: storedText(10_000).min(1) }),
        response: { 204: z.null(), ...problems(413, 415) },
      },
      handler: async (request, reply) => {
        const { tenantId, userId } = principalOf(request);
        const { name } = request.params;
        await secrets.put(tenantId, { name, value: request.body.value, updatedBy: userId });
        return reply.code(204).send(null);
      },
    });
    app.route({
      method: 'DELETE',
      url: '/api/secrets/:name',
      config: { action: 'secret.manage' },
      schema: {
        tags,
        summary: 'Remove a secret',
        params,
        response: { 204: z.null(), ...problems(404, 413, 415) },
      },
      handler: async (request, reply) => {
        await secrets.remove(principalOf(request).tenantId, request.params.name);
        return reply.code(204).send(null);
      },
    });
  };
}
