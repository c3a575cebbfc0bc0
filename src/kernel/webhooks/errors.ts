import { conflict, defineErrors, notFound } from '../../lib/errors.ts';

export const webhookErrors = defineErrors({
  webhook_not_found: notFound(
    'There is no such webhook endpoint',
    'Check the id; GET /api/webhooks lists the endpoints.',
  ),
  delivery_not_found: notFound(
    'There is no such delivery',
    'Check the id; finished deliveries are kept for WEBHOOK_DELIVERY_RETENTION_DAYS.',
  ),
  too_many_webhooks: conflict(
    'The tenant has reached its limit of webhook endpoints',
    'Delete one that is not needed, or ask an operator to raise WEBHOOK_MAX_ENDPOINTS.',
  ),
  webhook_disabled: conflict(
    'The webhook endpoint is disabled',
    'Enable it with PATCH /api/webhooks/{webhook_id} {"enabled": true}; waiting deliveries are then sent at once.',
  ),
});
