import { days, fraction, wholeNumber } from '../../lib/settings/setting-kinds.ts';
import { setting } from '../../lib/settings/settings.ts';

export const webhookSettings = {
  webhookRetryBaseSeconds: setting('WEBHOOK_RETRY_BASE_SECONDS', fraction({ min: 0.001, max: 60 }), {
    default: 5,
    describe:
      'The wait before the second try of a webhook; later waits grow with it. With 5, ten tries take three days.',
  }),
  webhookTimeoutSeconds: setting('WEBHOOK_TIMEOUT_SECONDS', fraction({ min: 0.1, max: 120 }), {
    default: 15,
    describe: 'How long the receiver of a webhook may take to respond.',
  }),
  webhookConcurrency: setting('WEBHOOK_CONCURRENCY', wholeNumber({ min: 1, max: 256 }), {
    default: 16,
    describe: 'How many webhooks one process sends at a time.',
  }),
  webhookMaxEndpoints: setting('WEBHOOK_MAX_ENDPOINTS', wholeNumber({ min: 1, max: 100_000 }), {
    default: 50,
    describe: 'How many webhook endpoints one tenant may have.',
  }),
  // At most as long as the shortest retention of events, which hold what was sent.
  webhookDeliveryRetentionDays: setting('WEBHOOK_DELIVERY_RETENTION_DAYS', days({ min: 1, max: 90 }), {
    default: 14,
    describe: 'How long finished webhook deliveries are kept.',
  }),
};
