import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { ItemChange } from './types.ts';

export class ItemMetrics {
  readonly ingestSeconds;
  readonly itemsProcessed;
  readonly itemRetries;
  readonly lateItems;
  readonly throttled;
  readonly dbLatency;
  readonly poolWait;

  constructor(registry: Registry) {
    const registers = [registry];
    this.ingestSeconds = new Histogram({
      name: 'sluice_ingest_seconds',
      help: 'How long the ingest of one file took',
      buckets: [0.1, 0.5, 1, 5, 15, 60, 300],
      registers,
    });
    this.itemsProcessed = new Counter({
      name: 'sluice_items_processed_total',
      help: 'Items that came to an end, by status',
      labelNames: ['status'],
      registers,
    });
    this.itemRetries = new Counter({
      name: 'sluice_item_retries_total',
      help: 'Items that wait for another try, by the code of the error',
      labelNames: ['code'],
      registers,
    });
    this.lateItems = new Counter({
      name: 'sluice_items_refused_total',
      help: 'Results that came too late: the item had been taken over',
      registers,
    });
    this.throttled = new Counter({
      name: 'sluice_provider_throttled_total',
      help: 'Answers of providers that asked to slow down',
      labelNames: ['provider'],
      registers,
    });
    this.dbLatency = new Gauge({
      name: 'sluice_db_latency_ewma_seconds',
      help: 'Moving average of the time that an insert of a batch takes',
      registers,
    });
    this.poolWait = new Histogram({
      name: 'sluice_pool_wait_seconds',
      help: 'How long transactions waited for a connection',
      buckets: [0.001, 0.01, 0.1, 1, 10],
      registers,
    });
  }

  moved(changes: readonly ItemChange[]): void {
    const counts = new Map<string, number>();
    for (const { status, errorCode } of changes) {
      if (status === 'PENDING') {
        if (errorCode !== null) this.itemRetries.inc({ code: errorCode });
      } else counts.set(status, (counts.get(status) ?? 0) + 1);
    }
    for (const [status, count] of counts) this.itemsProcessed.inc({ status }, count);
  }
}
