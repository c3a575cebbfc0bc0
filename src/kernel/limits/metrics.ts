import type { Registry } from 'prom-client';
import { metricsOf } from '../../lib/metrics.ts';

export class LimitMetrics {
  readonly rateLimitWaits;

  constructor(registry: Registry) {
    const help = 'Reservations that were told to wait';
    this.rateLimitWaits = metricsOf(registry).counter('sluice_rate_limit_waits_total', help);
  }
}
