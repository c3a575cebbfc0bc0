import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { FileOutcome } from './types.ts';

export class AdapterMetrics {
  readonly #files;
  readonly #seconds;
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
    const registers = [registry];
    this.#files = new Counter({
      name: 'sluice_adapter_files_total',
      help: 'Files that adapter scans have processed, by outcome',
      labelNames: ['outcome'],
      registers,
    });
    this.#seconds = new Histogram({
      name: 'sluice_adapter_scan_seconds',
      help: 'How long adapter scans took, by outcome',
      labelNames: ['kind', 'outcome'],
      buckets: [0.1, 0.5, 1, 5, 15, 60, 300, 1_800],
      registers,
    });
  }

  file(outcome: FileOutcome): void {
    this.#files.inc({ outcome });
  }

  scan(kind: string, { outcome, seconds }: { outcome: 'ok' | 'error'; seconds: number }): void {
    this.#seconds.observe({ kind, outcome }, seconds);
  }

  watchOldest(read: () => Promise<number | null>): void {
    new Gauge({
      name: 'sluice_adapter_last_success_age_seconds',
      help: 'Seconds since the last successful scan of the scheduled adapter that has waited longest',
      registers: [this.#registry],
      async collect() {
        const seconds = await read();
        if (seconds !== null) this.set(seconds);
      },
    });
  }
}
