import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { ewma } from '../../lib/numbers.ts';
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
    const registers = [registry];
    this.ingestSeconds = new Histogram({
      name: 'sluice_ingest_seconds',
      help: 'How long the ingest of one file took',
      buckets: [0.1, 0.5, 1, 5, 15, 60, 300],
      registers,
    });
    this.itemsProcessed = new Counter({
      name: 'sluice_items_processed_total',
      help: 'Finished items, by status; its rates are items, errors and not-founds per second',
      labelNames: ['status'],
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
    this.#dbLatency = new Gauge({
      name: 'sluice_db_latency_ewma_seconds',
      help: 'Moving average of the time that an insert of a batch takes',
      registers,
    });
    this.pageSeconds = new Histogram({
      name: 'sluice_page_seconds',
      help: 'How long the query of one page of rows took, by list',
      labelNames: ['list'],
      buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
      registers,
    });
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
    let last: { atMs: number; counts: Promise<PendingCount[]> } | null = null;
    new Gauge({
      name: 'sluice_pending_count',
      help: 'Items that are not finished, by status, counted at most every 30 seconds',
      labelNames: ['status'],
      registers: [this.#registry],
      async collect() {
        const now = performance.now();
        if (last === null || now - last.atMs > rememberMs) last = { atMs: now, counts: read() };
        this.reset();
        for (const { status, count } of await last.counts) this.set({ status }, count);
      },
    });
  }

  /** One counter for the retries of all pipelines. The kernel creates it, possibly after this house. */
  #retries(): Counter<'class'> {
    const name = 'sluice_retries_total';
    const known = this.#registry.getSingleMetric(name) as Counter<'class'> | undefined;
    return (
      known ??
      new Counter({
        name,
        help: 'Retries by class of error',
        labelNames: ['class'],
        registers: [this.#registry],
      })
    );
  }
}
