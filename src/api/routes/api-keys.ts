import { z } from 'zod';
import {
  listOf,
  pageOf,
  pageQuery,
  pageRequest,
  problems,
  shownAs,
  timestamp,
} from '../../kernel/http/replies.ts';
import { principalOf, type RouteModule } from '../../kernel/http/route.ts';
import { type CreatedApiKey, createApiKey, suspendedBecause } from '../../kernel/tenancy/api-keys.ts';
import { listKeys, revokeKey } from '../../kernel/tenancy/service.ts';
import { type ApiKey, isUsableId, roles } from '../../kernel/tenancy/types.ts';

const tags = ['api keys'];
const list = 'api-keys';
export const apiKeyReply = z
  .object({
    key_id: z.uuid(),
    name: z.string(),
    role: z.enum(roles),
    key_hint: z.string().describe('The first characters of the key'),
    created_by: z.string().describe('A user, or `api_key:` and the id of another key'),
    user_id: z.string().describe('The user behind the key: who made it, or who made the key that made it'),
    suspended: z.boolean().describe('Refused for as long as that user is disabled'),
    suspended_because: z.string().nullable(),
    operator_only: z.boolean().describe('Belongs to an operator: only an operator can revoke it'),
    created_at: timestamp,
    expires_at: timestamp.nullable(),
    last_used_at: timestamp.nullable().describe('To the minute'),
    revoked_at: timestamp.nullable(),
  })
  .meta({ id: 'ApiKey' });
const createdReply = apiKeyReply
  .extend({ key: z.string().describe('Shown only once; only its hash is stored') })
  .meta({ id: 'CreatedApiKey' });

export function renderApiKey(key: ApiKey): z.output<typeof apiKeyReply> {
  return { ...shownAs(apiKeyReply, key), ...renderStanding(key) };
}

function renderCreated(created: CreatedApiKey): z.output<typeof createdReply> {
  return { ...shownAs(createdReply, created), ...renderStanding(created) };
}

function renderStanding(key: ApiKey) {
  const because = suspendedBecause(key);
  return { suspended: because !== null, suspended_because: because };
}

export const apiKeyRoutes: RouteModule = (app, { db, cursors }) => {
  app.route({
    method: 'GET',
    url: '/api/api-keys',
    config: { action: 'api_key.manage' },
    schema: {
      tags,
      summary: 'List API keys, including revoked ones; the keys themselves are never shown',
      querystring: z.strictObject(pageQuery),
      response: { 200: listOf(apiKeyReply), ...problems() },
    },
    handler: async (request) => {
      const { limit } = request.query;
      const page = pageRequest(request.query, { list, cursors });
      const rows = await listKeys(db, principalOf(request).tenantId, page);
      return pageOf(rows, { limit, list, cursors, key: (row) => row.keyId, render: renderApiKey });
    },
  });
  app.route({
    method: 'POST',
    url: '/api/api-keys',
    config: { action: 'api_key.manage', idempotent: 'sealed' },
    schema: {
      tags,
      summary: 'Create an API key',
      body: z.strictObject({
        name: z.string().min(1).max(200).refine(isUsableId, 'must not contain control characters'),
        role: z.enum(roles).describe('An admin: member, admin or service; an operator: any'),
        expires_at: z.iso.datetime({ offset: true }).optional(),
      }),
      response: { 201: createdReply, ...problems(409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const { name, role, expires_at } = request.body;
      const expiresAt = expires_at === undefined ? null : new Date(expires_at);
      const keep = request.receipt.keeping(201, renderCreated);
      const created = await createApiKey(
        db,
        { principal: principalOf(request), name, role, expiresAt },
        keep,
      );
      return reply.code(201).send(renderCreated(created));
    },
  });
  app.route({
    method: 'DELETE',
    url: '/api/api-keys/:key_id',
    config: { action: 'api_key.manage' },
    schema: {
      tags,
      summary: 'Revoke an API key; it stops working at once',
      params: z.strictObject({ key_id: z.uuid() }),
      response: { 204: z.null().describe('Revoked'), ...problems(404) },
    },
    handler: async (request, reply) => {
      await revokeKey(db, { principal: principalOf(request), keyId: request.params.key_id });
      return reply.code(204).send(null);
    },
  });
};
