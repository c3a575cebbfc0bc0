import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Logger } from './log.ts';

/** Makes metrics of one registry. */
export function metricsOf(registry: Registry) {
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
    new Counter({ name, help, labelNames, registers });
  /** One counter for several houses: whichever comes first creates it. */
  const sharedCounter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    (registry.getSingleMetric(name) as Counter<Label> | undefined) ?? counter(name, help, labelNames);
  return {
    counter,
    sharedCounter,
    throttledCounter: () =>
      sharedCounter('sluice_provider_throttled_total', 'Responses of providers that asked to slow down', [
        'provider',
      ]),
    histogram: <Label extends string>(
      name: string,
      help: string,
      { buckets, labelNames = [] }: { buckets: number[]; labelNames?: Label[] },
    ) => new Histogram({ name, help, buckets, labelNames, registers }),
  };
}

/** A gauge that `read` sets when metrics are collected. A failure is logged, and the gauge keeps its value. */
export function readGauge<Label extends string>(
  registry: Registry,
  { logger, ...gauge }: { name: string; help: string; labelNames?: Label[]; logger: Logger },
  read: (gauge: Gauge<Label>) => Promise<void>,
): void {
  new Gauge<Label>({
    ...gauge,
    registers: [registry],
    async collect() {
      try {
        await read(this);
      } catch (error) {
        logger.warn({ err: error, metric: gauge.name }, 'a metric could not be read');
      }
    },
  });
}
