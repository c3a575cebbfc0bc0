import { fraction, wholeNumber } from '../../lib/settings/setting-kinds.ts';
import { setting } from '../../lib/settings/settings.ts';

export const webhookSettings = {
  webhookRetryBaseSeconds: setting({
    env: 'WEBHOOK_RETRY_BASE_SECONDS',
    ...fraction({ min: 0.001, max: 60 }),
    default: 5,
    describe:
      'The wait before the second try of a webhook; the later ones grow with it, at 5 to three days for ten tries.',
  }),
  webhookTimeoutSeconds: setting({
    env: 'WEBHOOK_TIMEOUT_SECONDS',
    ...fraction({ min: 0.1, max: 120 }),
    default: 15,
    describe: 'How long the receiver of a webhook may take to answer.',
  }),
  webhookConcurrency: setting({
    env: 'WEBHOOK_CONCURRENCY',
    ...wholeNumber({ min: 1, max: 256 }),
    default: 16,
    describe: 'How many webhooks one process sends at a time.',
  }),
  webhookMaxEndpoints: setting({
    env: 'WEBHOOK_MAX_ENDPOINTS',
    ...wholeNumber({ min: 1, max: 100_000 }),
    default: 50,
    describe: 'How many webhook endpoints one tenant may have.',
  }),
  webhookDeliveryRetentionDays: setting({
    env: 'WEBHOOK_DELIVERY_RETENTION_DAYS',
    // Not longer than the shortest retention of events, which have what was sent.
    ...wholeNumber({ min: 1, max: 90, unit: 'days' }),
    default: 14,
    describe: 'How long finished webhook deliveries are kept.',
  }),
};
