import pino from 'pino';
import { Registry } from 'prom-client';
import { WakeUp } from '../../../src/kernel/jobs/wake-up.ts';
import { parseSecretKeys } from '../../../src/kernel/secrets/stored-secrets.ts';
import type { WebhookDeps } from '../../../src/kernel/webhooks/service.ts';
import { openWebhooks, type WebhookOptions, type Webhooks } from '../../../src/kernel/webhooks/webhooks.ts';
import { createGuardedFetch } from '../../../src/lib/fetch/guarded-fetch.ts';
import type { Database } from '../../../src/lib/postgres/db.ts';

const keys = parseSecretKeys('ab'.repeat(32));

/** For the services of endpoints and deliveries. */
export function testWebhookDeps(db: Database): WebhookDeps {
  return { db, wake: new WakeUp(db), keys, blockPrivateAddresses: false, maxEndpoints: 50 };
}

/**
 * As the product has them, with short waits and the way to this machine open. The time limit is longer than a machine
 * may stall: a receiver that responds has responded at the first try.
 */
export function testWebhooks(db: Database, options: Partial<WebhookOptions> = {}): Webhooks {
  return openWebhooks({
    db,
    wake: new WakeUp(db),
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    fetch: createGuardedFetch({ blockPrivateAddresses: false, userAgent: 'Sluice/test' }),
    keys,
    blockPrivateAddresses: false,
    webhookRetryBaseSeconds: 0.01,
    webhookTimeoutSeconds: 20,
    webhookConcurrency: 16,
    webhookMaxEndpoints: 50,
    webhookDeliveryRetentionDays: 14,
    ...options,
  });
}
