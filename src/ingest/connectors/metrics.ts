import { Counter, type Registry } from 'prom-client';

export class ConnectorMetrics {
  readonly requests;
  readonly syncs;
  readonly records;
  readonly adoptions;
  readonly #throttled;

  constructor(registry: Registry) {
    const registers = [registry];
    this.requests = new Counter({
      name: 'sluice_airbyte_requests_total',
      help: 'Requests to Airbyte, by operation and outcome',
      labelNames: ['request', 'answer'],
      registers,
    });
    this.syncs = new Counter({
      name: 'sluice_connector_syncs_total',
      help: 'Ended syncs, by connector',
      labelNames: ['tenant', 'connector', 'outcome'],
      registers,
    });
    this.records = new Counter({
      name: 'sluice_sync_records_total',
      help: 'Records that syncs have committed',
      registers,
    });
    this.adoptions = new Counter({
      name: 'sluice_sync_adoptions_total',
      help: 'Runs of Airbyte that were adopted instead of triggered, by reason',
      labelNames: ['reason'],
      registers,
    });
    // One metric for all providers that throttle; another house may have registered it already.
    const name = 'sluice_provider_throttled_total';
    const shared = registry.getSingleMetric(name) as Counter<'provider'> | undefined;
    const help = 'Responses in which providers asked to slow down';
    this.#throttled = shared ?? new Counter({ name, help, labelNames: ['provider'], registers });
  }

  throttled(): void {
    this.#throttled.inc({ provider: 'airbyte' });
  }
}
