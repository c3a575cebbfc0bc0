import { defineErrors } from '../../lib/errors.ts';

export const webhookErrors = defineErrors({
  webhook_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'There is no such webhook endpoint',
    next: 'Check the id; GET /api/webhooks lists the endpoints.',
  },
  delivery_not_found: {
    kind: 'not_found',
    status: 404,
    title: 'There is no such delivery',
    next: 'Check the id; finished deliveries are kept for WEBHOOK_DELIVERY_RETENTION_DAYS.',
  },
  too_many_webhooks: {
    kind: 'conflict',
    status: 409,
    title: 'The tenant has as many webhook endpoints as it may have',
    next: 'Delete one that is not needed, or ask an operator to raise WEBHOOK_MAX_ENDPOINTS.',
  },
  webhook_disabled: {
    kind: 'conflict',
    status: 409,
    title: 'The webhook endpoint is disabled',
    next: 'Enable it with PATCH /api/webhooks/{webhook_id} {"enabled": true}; what waits is then sent at once.',
  },
});
