import type { Registry } from 'prom-client';
import type { Logger } from '../../lib/log.ts';
import { metricsOf, readGauge } from '../../lib/metrics.ts';
import type { FileOutcome } from './types.ts';

export class AdapterMetrics {
  readonly #files;
  readonly #seconds;
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
    const { counter, histogram } = metricsOf(registry);
    this.#files = counter(
      'sluice_adapter_files_total',
      'Files that adapter scans have processed, by outcome',
      ['outcome'],
    );
    this.#seconds = histogram('sluice_adapter_scan_seconds', 'How long adapter scans took, by outcome', {
      labelNames: ['kind', 'outcome'],
      buckets: [0.1, 0.5, 1, 5, 15, 60, 300, 1_800],
    });
  }

  file(outcome: FileOutcome): void {
    this.#files.inc({ outcome });
  }

  scan(kind: string, { outcome, seconds }: { outcome: 'ok' | 'error'; seconds: number }): void {
    this.#seconds.observe({ kind, outcome }, seconds);
  }

  watchOldest(read: () => Promise<number>, logger: Logger): void {
    const name = 'sluice_adapter_last_success_age_seconds';
    const help = 'Seconds since the last successful scan of the scheduled adapter that has waited longest';
    readGauge(this.#registry, { name, help, logger }, async (gauge) => gauge.set(await read()));
  }
}
