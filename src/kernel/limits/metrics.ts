import { Counter, type Registry } from 'prom-client';

export class LimitMetrics {
  readonly rateLimitWaits;

  constructor(registry: Registry) {
    this.rateLimitWaits = new Counter({
      name: 'sluice_rate_limit_waits_total',
      help: 'Reservations that were told to wait',
      registers: [registry],
    });
  }
}
