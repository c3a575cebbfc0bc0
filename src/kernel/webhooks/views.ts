import { z } from 'zod';
import { eventIdText } from '../events/types.ts';
import { shownAs, timestamp } from '../http/replies.ts';
import type { EndpointWithSecret } from './service.ts';
import { type Attempt, type Delivery, deliveryStatuses, type Endpoint } from './types.ts';

export const endpointReply = z
  .object({
    webhook_id: z.uuid(),
    url: z.string(),
    event_types: z.array(z.string()).nullable().describe('Null: all types'),
    description: z.string().nullable(),
    enabled: z.boolean(),
    disabled_reason: z.string().nullable(),
    disabled_at: timestamp.nullable(),
    failures_in_row: z.int().describe('Failed tries since the last success'),
    failing_since: timestamp.nullable().describe('Since a delivery was given up; the next success clears it'),
    last_success_at: timestamp.nullable().describe('Accurate to about ten seconds'),
    previous_secret_expires_at: timestamp.nullable().describe('Until then, two secrets sign'),
    created_by: z.string(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Webhook' });

export const endpointWithSecretReply = endpointReply
  .extend({ secret: z.string().describe('Shown this once; only an encrypted copy is stored') })
  .meta({ id: 'WebhookWithSecret' });

export const deliveryReply = z
  .object({
    delivery_id: z.uuid().describe('The header webhook-id, the same on each try'),
    webhook_id: z.uuid(),
    event_id: z.string(),
    event_type: z.string(),
    subject: z.string().nullable(),
    status: z.enum(deliveryStatuses),
    attempts: z.int(),
    last_attempt_at: timestamp.nullable(),
    last_status_code: z.int().nullable(),
    last_error: z.string().nullable().describe('In a sentence'),
    last_duration_ms: z.int().nullable(),
    next_attempt_at: timestamp.nullable().describe('Null while it is being tried, and when it is finished'),
    created_at: timestamp,
    finished_at: timestamp.nullable(),
  })
  .meta({ id: 'WebhookDelivery' });

export const deliveryDetailReply = deliveryReply
  .extend({
    body: z.string().nullable().describe('The body that is sent and signed'),
    attempt_log: z
      .array(
        z.object({
          at: timestamp,
          status_code: z.int().nullable(),
          error: z.string().nullable(),
          duration_ms: z.int(),
          response_body: z.string().nullable().describe('Its first 1,024 bytes'),
        }),
      )
      .describe('The last twenty, oldest first'),
  })
  .meta({ id: 'WebhookDeliveryDetail' });

export function renderEndpoint(endpoint: Endpoint): z.output<typeof endpointReply> {
  return {
    ...shownAs(endpointReply, endpoint),
    enabled: endpoint.isEnabled,
    previous_secret_expires_at: endpoint.oldSecretUntil?.toISOString() ?? null,
  };
}

export function renderWithSecret(endpoint: EndpointWithSecret): z.output<typeof endpointWithSecretReply> {
  return { ...renderEndpoint(endpoint), secret: endpoint.secret };
}

export function renderDelivery(delivery: Delivery): z.output<typeof deliveryReply> {
  return {
    ...shownAs(deliveryReply, delivery),
    event_id: eventIdText({ ...delivery, xid: delivery.eventXid }),
    attempts: delivery.attemptCount,
  };
}

export function renderDetail(
  delivery: Delivery & { attempts: Attempt[] },
  body: string | null,
): z.output<typeof deliveryDetailReply> {
  return { ...renderDelivery(delivery), body, attempt_log: delivery.attempts };
}
