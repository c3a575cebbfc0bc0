import { z } from 'zod';
import { problems, timestamp } from '../../kernel/http/replies.ts';
import { principalOf, type RouteApp, type RouteModule } from '../../kernel/http/route.ts';
import { storedText } from '../../kernel/http/stored-text.ts';
import { normalizeHost } from '../../kernel/secrets/hosts.ts';
import type { TenantSecrets } from '../../kernel/secrets/tenant-secrets.ts';
import type { SecretRecord } from '../../kernel/secrets/types.ts';
import { rolesAllowed } from '../../kernel/tenancy/rights.ts';
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

const maxListed = 50;
const host = z
  .string()
  .max(300)
  .meta({ examples: ['api.example.com'] })
  .transform((text, context) => {
    const normal = normalizeHost(text.trim());
    if (normal !== null) return normal;
    context.issues.push({
      code: 'custom',
      input: text,
      message: 'must be a host or host:port, without scheme, path and wildcards',
    });
    return z.NEVER;
  });
const hosts = z
  .array(host)
  .min(1, 'must name at least one host')
  .max(maxListed)
  .describe(
    'Where it may be sent: `host` (all its ports) or `host:port`; redirects elsewhere do not carry it',
  );
const roles = z
  .array(z.enum(rolesAllowed('secret.use')))
  .max(10)
  .describe('Who may use it beside admins, services and operators: `member`');
const uses = z
  .array(
    z
      .string()
      .regex(
        /^(?:processor|embedder|reranker|source|adapter|connector):[A-Za-z0-9._-]{1,100}$/,
        'must be processor:…, embedder:…, reranker:…, source:…, adapter:… or connector:… with a name',
      )
      .meta({ examples: ['processor:http'] }),
  )
  .min(1, 'must name at least one use, or be null')
  .max(maxListed)
  .nullable()
  .describe('What may use it, such as `processor:http` or `embedder:openai`; null: everything');

const secretReply = z.object({
  name: z.string(),
  hosts: z.array(z.string()),
  roles: z.array(z.string()),
  uses: z.array(z.string()).nullable(),
  needs_hosts: z.boolean().describe('It cannot be used before it is stored again with its hosts'),
  updated_by: z.string(),
  updated_at: timestamp,
});

export function secretRoutes(secrets: TenantSecrets): RouteModule {
  return (app) => {
    installReading(app, secrets);
    installChanges(app, secrets);
  };
}

function installReading(app: RouteApp, secrets: TenantSecrets): void {
  app.route({
    method: 'GET',
    url: '/api/secrets',
    config: { action: 'secret.use' },
    schema: {
      tags,
      summary: 'List the names of the secrets that you may use; the secrets are never shown',
      response: { 200: z.object({ data: z.array(secretReply) }), ...problems() },
    },
    handler: async (request) => ({ data: (await secrets.list(principalOf(request))).map(render) }),
  });
}

function render(record: SecretRecord): z.output<typeof secretReply> {
  return { ...toSnakeCase(record), needs_hosts: record.hosts.length === 0 };
}

function installChanges(app: RouteApp, secrets: TenantSecrets): void {
  app.route({
    method: 'PUT',
    url: '/api/secrets/:name',
    config: { action: 'secret.manage' },
    schema: {
      tags,
      summary:
        'Store a secret, encrypted, for the hosts that it may be sent to; it can be replaced but not read',
      params,
      body: z.strictObject({
        value: storedText(10_000).min(1),
        hosts,
        roles: roles.default([]),
        uses: uses.default(null),
      }),
      response: { 204: z.null(), ...problems(413, 415) },
    },
    handler: async (request, reply) => {
      const { tenantId, userId } = principalOf(request);
      const { name } = request.params;
      await secrets.put(tenantId, { ...distinct(request.body), name, updatedBy: userId });
      return reply.code(204).send(null);
    },
  });
  app.route({
    method: 'PATCH',
    url: '/api/secrets/:name',
    config: { action: 'secret.manage' },
    schema: {
      tags,
      summary: 'Change who and what may use a secret; its hosts change only together with its value (PUT)',
      params,
      body: z.strictObject({ roles: roles.optional(), uses: uses.optional() }),
      response: { 204: z.null(), ...problems(404, 413, 415) },
    },
    handler: async (request, reply) => {
      const { tenantId, userId } = principalOf(request);
      const { name } = request.params;
      await secrets.change(tenantId, { ...distinct(request.body), name, updatedBy: userId });
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
}

/** Without the repeats in its lists. */
function distinct<Body extends object>(body: Body): Body {
  const entries = Object.entries(body).map(([key, value]) => [
    key,
    Array.isArray(value) ? [...new Set(value)] : value,
  ]);
  return Object.fromEntries(entries) as Body;
}
