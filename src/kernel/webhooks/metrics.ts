import { Gauge, type Registry } from 'prom-client';
import type { Logger } from '../../lib/log.ts';
import { metricsOf, readGauge } from '../../lib/metrics.ts';
import type { Database } from '../../lib/postgres/db.ts';
import { findLogHead } from '../events/store.ts';
import { findBacklog } from './deliveries/delivery-store.ts';
import { readLagSeconds } from './deliveries/fan-out-store.ts';

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
  const lag = 'Age of the oldest event that some webhook endpoint has not been given yet';
  readGauge(registry, { name: 'sluice_event_reader_lag_seconds', help: lag, logger }, async (gauge) => {
    const seconds = await db.kernel(async (tx) => {
      const head = await findLogHead(tx);
      return head ? readLagSeconds(tx, head) : 0;
    });
    gauge.set(seconds);
  });
  const help = 'Webhook deliveries that have not arrived';
  readGauge(registry, { name: 'sluice_webhook_backlog', help, logger }, async (gauge) => {
    const backlog = await db.kernel(findBacklog);
    gauge.set(backlog?.pending ?? 0);
    oldest.set(backlog?.oldestSeconds ?? 0);
  });
}
