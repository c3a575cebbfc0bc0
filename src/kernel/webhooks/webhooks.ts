import type { Database } from '../../lib/postgres/db.ts';
import { purgeInBatches } from '../../lib/postgres/purge.ts';
import type { SettingValues } from '../../lib/settings/settings.ts';
import type { Ground } from '../house/house.ts';
import type { RouteModule } from '../http/route.ts';
import type { WakeUp } from '../jobs/wake-up.ts';
import type { SecretKeys } from '../secrets/stored-secrets.ts';
import type { UpkeepTask } from '../upkeep/types.ts';
import { deleteDeliveriesOf, listUnwanted, purgeFinished } from './deliveries/delivery-store.ts';
import { WebhookDispatcher } from './deliveries/dispatcher.ts';
import { installWebhookGauges, WebhookMetrics } from './metrics.ts';
import { webhookRoutes } from './routes.ts';
import type { webhookSettings } from './settings.ts';

export interface WebhookOptions
  extends SettingValues<typeof webhookSettings>,
    Pick<Ground, 'db' | 'logger' | 'registry' | 'fetch'> {
  wake: WakeUp;
  keys: SecretKeys;
  blockPrivateAddresses: boolean;
}

/** Webhooks, wired. */
export interface Webhooks {
  routes: RouteModule;
  tasks: UpkeepTask[];
  /** Started by processes that send webhooks. */
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

export function webhookTasks(db: Database, days: number): UpkeepTask[] {
  return [
    {
      name: 'purge_webhook_deliveries',
      everyMs: 3_600_000,
      run: async () => ({
        finished: await purgeInBatches(db, (tx, limit) => purgeFinished(tx, { days, limit })),
        unwanted: await purgeUnwanted(db, days),
      }),
    },
  ];
}

/** Deliveries of deleted endpoints, and pending ones of endpoints that have been disabled for so long. */
async function purgeUnwanted(db: Database, days: number): Promise<number> {
  let removed = 0;
  for (const { isGone, ...key } of await db.kernel((tx) => listUnwanted(tx, { days }))) {
    removed += await purgeInBatches(db, (tx, limit) =>
      deleteDeliveriesOf(tx, { ...key, onlyPending: !isGone, limit }),
    );
  }
  return removed;
}
