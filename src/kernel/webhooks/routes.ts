import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { toCamelCase } from '../../lib/snake-case.ts';
import { isTypePattern } from '../events/types.ts';
import { listOf, pageOf, pageQuery, pageRequest, problems } from '../http/replies.ts';
import { principalOf, type RouteApp, type RouteDeps, type RouteModule } from '../http/route.ts';
import { storedText } from '../http/stored-text.ts';
import { deliveryRoutes } from './deliveries/routes.ts';
import { listEndpoints } from './endpoints/endpoint-store.ts';
import {
  changeEndpoint,
  createEndpoint,
  getEndpoint,
  removeEndpoint,
  rotateEndpointSecret,
  type WebhookDeps,
} from './service.ts';
import { type EndpointKey, maxEventTypes, maxUrlBytes } from './types.ts';
import { endpointReply, endpointWithSecretReply, renderEndpoint, renderWithSecret } from './views.ts';

const tags = ['webhooks'];
const list = 'webhooks';
const action = 'webhook.manage' as const;
const params = z.strictObject({ webhook_id: z.uuid() });

const url = storedText(maxUrlBytes)
  .refine((text) => /^https?:\/\//i.test(text) && URL.canParse(text), 'must be an http(s) address')
  .refine((text) => Buffer.byteLength(text) <= maxUrlBytes, `must have at most ${maxUrlBytes} bytes`)
  .meta({ format: 'uri' });
const eventTypes = z
  .array(z.string().refine(isTypePattern, 'must be a type such as job.completed, or a prefix such as job.*'))
  .min(1)
  .max(maxEventTypes)
  .describe('Types such as `upload.completed`, or prefixes such as `job.*`');
const description = storedText(500);

export function webhookRoutes(deps: WebhookDeps): RouteModule {
  return (app, routeDeps) => {
    installReading(app, routeDeps);
    installCreation(app, deps);
    installChanges(app, deps);
    deliveryRoutes(app, routeDeps, deps);
  };
}

function keyOf(request: FastifyRequest & { params: { webhook_id: string } }): EndpointKey {
  return { tenantId: principalOf(request).tenantId, webhookId: request.params.webhook_id };
}

function installReading(app: RouteApp, { db, cursors }: RouteDeps): void {
  app.route({
    method: 'GET',
    url: '/api/webhooks',
    config: { action },
    schema: {
      tags,
      summary: 'List webhook endpoints; never their secrets',
      querystring: z.strictObject(pageQuery),
      response: { 200: listOf(endpointReply), ...problems() },
    },
    handler: async (request) => {
      const { tenantId } = principalOf(request);
      const page = pageRequest(request.query, { list, cursors });
      const rows = await db.read(tenantId, (tx) => listEndpoints(tx, { tenantId, ...page }));
      const { limit } = request.query;
      return pageOf(rows, { limit, list, cursors, key: (row) => row.webhookId, render: renderEndpoint });
    },
  });
  app.route({
    method: 'GET',
    url: '/api/webhooks/:webhook_id',
    config: { action },
    schema: {
      tags,
      summary: 'Get a webhook endpoint',
      params,
      response: { 200: endpointReply, ...problems(404) },
    },
    handler: async (request) => renderEndpoint(await getEndpoint(db, keyOf(request))),
  });
}

function installCreation(app: RouteApp, deps: WebhookDeps): void {
  const place = ({ webhookId }: EndpointKey) => ({ location: `/api/webhooks/${webhookId}` });
  app.route({
    method: 'POST',
    url: '/api/webhooks',
    config: { action, idempotent: 'sealed' },
    schema: {
      tags,
      summary: 'Send events to a URL from now on, signed as Standard Webhooks specifies',
      body: z.strictObject({
        url,
        event_types: eventTypes.nullish(),
        description: description.nullish(),
      }),
      response: { 201: endpointWithSecretReply, ...problems(409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const { url, event_types: eventTypes = null, description = null } = request.body;
      const input = { url, eventTypes, description };
      const keep = request.receipt.keeping(201, renderWithSecret, place);
      const made = await createEndpoint(deps, principalOf(request), input, keep);
      return reply.code(201).headers(place(made)).send(renderWithSecret(made));
    },
  });
  app.route({
    method: 'POST',
    url: '/api/webhooks/:webhook_id/rotate-secret',
    config: { action, idempotent: 'sealed' },
    schema: {
      tags,
      summary: 'Create a new secret; for 24 hours the old one signs too',
      params,
      response: { 200: endpointWithSecretReply, ...problems(404, 409, 413, 415, 422) },
    },
    handler: async (request) => {
      const keep = request.receipt.keeping(200, renderWithSecret);
      return renderWithSecret(await rotateEndpointSecret(deps, keyOf(request), keep));
    },
  });
}

function installChanges(app: RouteApp, deps: WebhookDeps): void {
  app.route({
    method: 'PATCH',
    url: '/api/webhooks/:webhook_id',
    config: { action },
    schema: {
      tags,
      summary: 'Change a webhook endpoint',
      description:
        'A disabled endpoint is sent nothing and goes on where it stood when it is enabled again. `enabled: true` ' +
        'also tries at once what waits for a retry.',
      params,
      body: z.strictObject({
        url: url.optional(),
        event_types: eventTypes.nullable().optional().describe('Null: all types'),
        description: description.nullable().optional(),
        enabled: z.boolean().optional(),
      }),
      response: { 200: endpointReply, ...problems(404, 413, 415, 422) },
    },
    handler: async (request) => {
      const { enabled: isEnabled, ...change } = request.body;
      const changed = { ...toCamelCase(change), isEnabled };
      return renderEndpoint(await changeEndpoint(deps, keyOf(request), changed));
    },
  });
  app.route({
    method: 'DELETE',
    url: '/api/webhooks/:webhook_id',
    config: { action },
    schema: {
      tags,
      summary: 'Remove a webhook endpoint and its deliveries',
      params,
      response: { 204: z.null(), ...problems(404, 413, 415) },
    },
    handler: async (request, reply) => {
      await removeEndpoint(deps, keyOf(request));
      return reply.code(204).send(null);
    },
  });
}
