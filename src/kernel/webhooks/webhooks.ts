import type { Registry } from 'prom-client';
import type { GuardedFetch } from '../../lib/fetch/guarded-fetch.ts';
import type { Logger } from '../../lib/log.ts';
import type { Database } from '../../lib/postgres/db.ts';
import type { SettingValues } from '../../lib/settings/settings.ts';
import type { RouteModule } from '../http/route.ts';
import type { WakeUp } from '../jobs/wake-up.ts';
import type { SecretKeys } from '../secrets/stored-secrets.ts';
import type { UpkeepTask } from '../upkeep/types.ts';
import { WebhookDispatcher } from './deliveries/dispatcher.ts';
import { installWebhookGauges, WebhookMetrics } from './metrics.ts';
import { webhookRoutes } from './routes.ts';
import type { webhookSettings } from './settings.ts';
import { webhookTasks } from './tasks.ts';

export interface WebhookOptions extends SettingValues<typeof webhookSettings> {
  db: Database;
  wake: WakeUp;
  logger: Logger;
  registry: Registry;
  fetch: GuardedFetch;
  keys: SecretKeys;
  blockPrivateAddresses: boolean;
}

/** Webhooks, wired. */
export interface Webhooks {
  routes: RouteModule;
  tasks: UpkeepTask[];
  /** Started by whoever wants this process to send. */
  dispatcher: WebhookDispatcher;
}

export function openWebhooks(options: WebhookOptions): Webhooks {
  const { db, wake, logger, registry, fetch, keys, blockPrivateAddresses } = options;
  installWebhookGauges(registry, { db, logger });
  return {
    routes: webhookRoutes({
      db,
      wake,
      keys,
      blockPrivateAddresses,
      maxEndpoints: options.webhookMaxEndpoints,
    }),
    tasks: webhookTasks(db, options.webhookDeliveryRetentionDays),
    dispatcher: new WebhookDispatcher({
      db,
      wake,
      logger,
      fetch,
      keys,
      metrics: new WebhookMetrics(registry),
      timeoutMs: options.webhookTimeoutSeconds * 1000,
      retryBaseMs: options.webhookRetryBaseSeconds * 1000,
      concurrency: options.webhookConcurrency,
    }),
  };
}
