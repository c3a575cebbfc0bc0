import { z } from 'zod';
import { envelopeOf } from '../../events/types.ts';
import { listOf, pageOf, pageQuery, pageRequest, problems } from '../../http/replies.ts';
import { principalOf, type RouteApp, type RouteDeps } from '../../http/route.ts';
import { getDelivery, getEndpoint, resendDelivery, testEndpoint, type WebhookDeps } from '../service.ts';
import { type DeliveryKey, deliveryStatuses } from '../types.ts';
import { deliveryDetailReply, deliveryReply, renderDelivery, renderDetail } from '../views.ts';
import { listDeliveries } from './delivery-store.ts';

const tags = ['webhooks'];
const action = 'webhook.manage' as const;
const ofEndpoint = z.strictObject({ webhook_id: z.uuid() });
const ofDelivery = z.strictObject({ delivery_id: z.uuid() });

export function deliveryRoutes(app: RouteApp, routeDeps: RouteDeps, deps: WebhookDeps): void {
  installReading(app, routeDeps);
  installSending(app, deps);
}

function installReading(app: RouteApp, { db, cursors }: RouteDeps): void {
  app.route({
    method: 'GET',
    url: '/api/webhooks/:webhook_id/deliveries',
    config: { action },
    schema: {
      tags,
      summary: 'List the deliveries of an endpoint, newest first',
      params: ofEndpoint,
      querystring: z.strictObject({ ...pageQuery, status: z.enum(deliveryStatuses).optional() }),
      response: { 200: listOf(deliveryReply), ...problems(404) },
    },
    handler: async (request) => {
      const { tenantId } = principalOf(request);
      const { webhookId } = await getEndpoint(db, { tenantId, webhookId: request.params.webhook_id });
      const { limit, status = null } = request.query;
      const list = `webhooks/${webhookId}/${status ?? ''}`;
      const page = { tenantId, webhookId, status, ...pageRequest(request.query, { list, cursors }) };
      const rows = await db.read(tenantId, (tx) => listDeliveries(tx, page));
      return pageOf(rows, { limit, list, cursors, key: (row) => row.deliveryId, render: renderDelivery });
    },
  });
  app.route({
    method: 'GET',
    url: '/api/webhook-deliveries/:delivery_id',
    config: { action },
    schema: {
      tags,
      summary: 'Get a delivery: what is sent, and the result of each try',
      params: ofDelivery,
      response: { 200: deliveryDetailReply, ...problems(404) },
    },
    handler: async (request) => {
      const { tenantId } = principalOf(request);
      const { delivery, event } = await getDelivery(db, { tenantId, deliveryId: request.params.delivery_id });
      return renderDetail(delivery, event && JSON.stringify(envelopeOf(event)));
    },
  });
}

function installSending(app: RouteApp, deps: WebhookDeps): void {
  const place = ({ deliveryId }: DeliveryKey) => ({ location: `/api/webhook-deliveries/${deliveryId}` });
  app.route({
    method: 'POST',
    url: '/api/webhooks/:webhook_id/test',
    config: { action, idempotent: true },
    schema: {
      tags,
      summary: 'Send a webhook.test event to this endpoint, once',
      params: ofEndpoint,
      response: { 202: deliveryReply, ...problems(404, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const keep = request.receipt.keeping(202, renderDelivery, place);
      const { webhook_id: webhookId } = request.params;
      const made = await testEndpoint(deps, principalOf(request), webhookId, keep);
      return reply.code(202).headers(place(made)).send(renderDelivery(made));
    },
  });
  app.route({
    method: 'POST',
    url: '/api/webhook-deliveries/:delivery_id/resend',
    config: { action },
    schema: {
      tags,
      summary: 'Send a delivery again; a waiting one is tried now',
      description:
        'It has the same webhook-id. A finished one does not hold up later events about the same subject.',
      params: ofDelivery,
      response: { 202: deliveryReply, ...problems(404, 409, 413, 415) },
    },
    handler: async (request, reply) => {
      const { tenantId } = principalOf(request);
      const sent = await resendDelivery(deps, { tenantId, deliveryId: request.params.delivery_id });
      return reply.code(202).headers(place(sent)).send(renderDelivery(sent));
    },
  });
}
