import type { Registry } from 'prom-client';
import type { Logger } from '../../lib/log.ts';
import { readGauge } from '../../lib/metrics.ts';
import type { Database } from '../../lib/postgres/db.ts';
import { rememberFor } from '../../lib/timing/remember.ts';
import { readGauges } from './store.ts';

const rememberMs = 5_000;

/** Gauges that are read from the database when somebody looks, and at most every few seconds. */
export function installGauges(registry: Registry, { db, logger }: { db: Database; logger: Logger }): void {
  const read = rememberFor(rememberMs, () =>
    db.kernel(readGauges).catch((error: unknown) => {
      logger.warn({ err: error }, 'queue depth and dead letters could not be read');
      return null;
    }),
  );
  const queueDepth = { name: 'sluice_queue_depth', help: 'Jobs that are waiting or running, by pipeline' };
  readGauge(registry, { ...queueDepth, labelNames: ['pipeline'], logger }, async (gauge) => {
    const gauges = await read();
    gauge.reset();
    for (const { pipeline, count } of gauges?.queueDepth ?? []) gauge.set({ pipeline }, count);
  });
  const deadLetters = { name: 'sluice_dead_letters', help: 'Dead letters, by tenant' };
  readGauge(registry, { ...deadLetters, labelNames: ['tenant'], logger }, async (gauge) => {
    const gauges = await read();
    gauge.reset();
    for (const { tenantId, count } of gauges?.deadLetters ?? []) gauge.set({ tenant: tenantId }, count);
  });
}
