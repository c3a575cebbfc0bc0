import { type Counter, Gauge, type Registry } from 'prom-client';
import { metricsOf } from '../../lib/metrics.ts';
import { ewma } from '../../lib/numbers.ts';
import { rememberFor } from '../../lib/timing/remember.ts';
import type { ItemStatus, Unreported } from './types.ts';

const latencyWeight = 0.2;
const rememberPendingMs = 30_000;

export interface PendingCount {
  status: Extract<ItemStatus, 'PENDING' | 'PROCESSING'>;
  count: number;
}

export class ItemMetrics {
  readonly ingestSeconds;
  readonly itemsProcessed;
  readonly lateItems;
  readonly throttled;
  readonly pageSeconds;
  readonly #registry;
  readonly #dbLatency;
  #latencyMs: number | null = null;

  constructor(registry: Registry) {
    this.#registry = registry;
    const { counter, histogram, throttledCounter } = metricsOf(registry);
    this.ingestSeconds = histogram('sluice_ingest_seconds', 'How long the ingest of one file took', {
      buckets: [0.1, 0.5, 1, 5, 15, 60, 300],
    });
    this.itemsProcessed = counter(
      'sluice_items_processed_total',
      'Finished items, by status; its rates are items, errors and not-founds per second',
      ['status'],
    );
    this.lateItems = counter(
      'sluice_items_refused_total',
      'Results that came too late: the item had been taken over',
    );
    this.throttled = throttledCounter();
    this.#dbLatency = new Gauge({
      name: 'sluice_db_latency_ewma_seconds',
      help: 'Moving average of the time that an insert of a batch takes',
      registers: [registry],
    });
    this.pageSeconds = histogram(
      'sluice_page_seconds',
      'How long the query of one page of rows took, by list',
      { labelNames: ['list'], buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5] },
    );
  }

  inserted(latencyMs: number): void {
    this.#latencyMs = ewma(this.#latencyMs, latencyMs, latencyWeight);
    this.#dbLatency.set(this.#latencyMs / 1000);
  }

  /** Counts what a committed transaction did. */
  moved(fresh: Unreported): void {
    for (const [name, count] of Object.entries(fresh)) {
      const [what, label = ''] = name.split('.');
      if (what === 'ended') this.itemsProcessed.inc({ status: label }, count);
      else this.#retries().inc({ class: label }, count);
    }
  }

  /** Counted when the metrics are read, and then not again for a while. */
  watchPending(read: () => Promise<PendingCount[]>, rememberMs = rememberPendingMs): void {
    const counts = rememberFor(rememberMs, read);
    new Gauge({
      name: 'sluice_pending_count',
      help: 'Items that are not finished, by status, counted at most every 30 seconds',
      labelNames: ['status'],
      registers: [this.#registry],
      async collect() {
        this.reset();
        for (const { status, count } of await counts()) this.set({ status }, count);
      },
    });
  }

  /** Of all pipelines. The kernel creates it, possibly after this house. */
  #retries(): Counter<'class'> {
    const { sharedCounter } = metricsOf(this.#registry);
    return sharedCounter('sluice_retries_total', 'Retries by class of error', ['class']);
  }
}
