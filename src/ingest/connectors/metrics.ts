import type { Registry } from 'prom-client';
import { metricsOf } from '../../lib/metrics.ts';
import { isEmptyCode } from './sync/checkpoint.ts';

export class ConnectorMetrics {
  readonly requests;
  readonly syncs;
  readonly records;
  readonly adoptions;
  readonly #empty;
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
    this.#empty = counter(
      'sluice_empty_syncs_total',
      'Syncs that succeeded though no record is known to have moved, by connector and reason',
      ['tenant', 'connector', 'reason'],
    );
    this.#throttled = throttledCounter();
  }

  countEmpty({ tenantId, subjectId }: { tenantId: string; subjectId: string }, code: string | null): void {
    if (isEmptyCode(code)) this.#empty.inc({ tenant: tenantId, connector: subjectId, reason: code });
  }

  throttled(): void {
    this.#throttled.inc({ provider: 'airbyte' });
  }
}
