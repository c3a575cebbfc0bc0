import type { Registry } from 'prom-client';
import { metricsOf } from '../../lib/metrics.ts';

export class ConnectorMetrics {
  readonly requests;
  readonly syncs;
  readonly records;
  readonly adoptions;
  readonly #throttled;

  constructor(registry: Registry) {
    const { counter, throttledCounter } = metricsOf(registry);
    this.requests = counter(
      'sluice_airbyte_requests_total',
      'Requests to Airbyte, by operation and outcome',
      ['request', 'answer'],
    );
    this.syncs = counter('sluice_connector_syncs_total', 'Ended syncs, by connector', [
      'tenant',
      'connector',
      'outcome',
    ]);
    this.records = counter('sluice_sync_records_total', 'Records that syncs have committed');
    this.adoptions = counter(
      'sluice_sync_adoptions_total',
      'Runs of Airbyte that were adopted instead of triggered, by reason',
      ['reason'],
    );
    this.#throttled = throttledCounter();
  }

  throttled(): void {
    this.#throttled.inc({ provider: 'airbyte' });
  }
}
