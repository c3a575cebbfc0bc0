import { Gauge, type Registry } from 'prom-client';
import type { Logger } from '../../lib/log.ts';
import { metricsOf, readGauge } from '../../lib/metrics.ts';
import type { Database } from '../../lib/postgres/db.ts';
import { findBacklog } from './deliveries/delivery-store.ts';

export class WebhookMetrics {
  readonly deliveries;
  readonly lag;

  constructor(registry: Registry) {
    const { counter, histogram } = metricsOf(registry);
    this.deliveries = counter(
      'sluice_webhook_deliveries_total',
      'Tries of webhook deliveries by how they ended; superseded: another process had taken over',
      ['outcome'],
    );
    this.lag = histogram(
      'sluice_webhook_delivery_lag_seconds',
      'From an event to its delivery to a webhook endpoint',
      { buckets: [0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300, 3_600, 36_000, 259_200] },
    );
  }
}

export function installWebhookGauges(
  registry: Registry,
  { db, logger }: { db: Database; logger: Logger },
): void {
  const oldest = new Gauge({
    name: 'sluice_webhook_oldest_pending_seconds',
    help: 'Age of the oldest webhook delivery that has not arrived',
    registers: [registry],
  });
  const help = 'Webhook deliveries that have not arrived';
  readGauge(registry, { name: 'sluice_webhook_backlog', help, logger }, async (gauge) => {
    const backlog = await db.kernel(findBacklog);
    gauge.set(backlog?.pending ?? 0);
    oldest.set(backlog?.oldestSeconds ?? 0);
  });
}
