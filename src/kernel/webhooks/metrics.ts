import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Logger } from '../../lib/log.ts';
import type { Database } from '../../lib/postgres/db.ts';
import { findBacklog } from './deliveries/delivery-store.ts';

export class WebhookMetrics {
  readonly deliveries;
  readonly lag;

  constructor(registry: Registry) {
    const registers = [registry];
    this.deliveries = new Counter({
      name: 'sluice_webhook_deliveries_total',
      help: 'Tries of webhook deliveries by how they ended; superseded: another process had taken over',
      labelNames: ['outcome'],
      registers,
    });
    this.lag = new Histogram({
      name: 'sluice_webhook_delivery_lag_seconds',
      help: 'From an event to its delivery to a webhook endpoint',
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300, 3_600, 36_000, 259_200],
      registers,
    });
  }
}

/** Read from the database when somebody asks. */
export function installWebhookGauges(
  registry: Registry,
  { db, logger }: { db: Database; logger: Logger },
): void {
  const registers = [registry];
  const oldest = new Gauge({
    name: 'sluice_webhook_oldest_pending_seconds',
    help: 'Age of the oldest webhook delivery that has not arrived',
    registers,
  });
  new Gauge({
    name: 'sluice_webhook_backlog',
    help: 'Webhook deliveries that have not arrived',
    registers,
    async collect() {
      try {
        const backlog = await db.kernel(findBacklog);
        this.set(backlog?.pending ?? 0);
        oldest.set(backlog?.oldestSeconds ?? 0);
      } catch (error) {
        logger.warn({ err: error }, 'the backlog of webhooks could not be read for the metrics');
      }
    },
  });
}
