import { Gauge, type Registry } from 'prom-client';
import type { Logger } from '../../lib/log.ts';
import type { Database } from '../../lib/postgres/db.ts';
import { type Gauges, readGauges } from './store.ts';

const rememberMs = 5_000;

/** Gauges that are read from the database when somebody looks, and at most every few seconds. */
export function installGauges(registry: Registry, { db, logger }: { db: Database; logger: Logger }): void {
  let last: { readAtMs: number; gauges: Promise<Gauges | null> } | null = null;
  const read = (): Promise<Gauges | null> => {
    const now = performance.now();
    if (last === null || now - last.readAtMs > rememberMs) {
      const gauges = db.kernel(readGauges).catch((error: unknown) => {
        logger.warn({ err: error }, 'queue depth and dead letters could not be read');
        return null;
      });
      last = { readAtMs: now, gauges };
    }
    return last.gauges;
  };
  new Gauge({
    name: 'sluice_queue_depth',
    help: 'Jobs that are waiting or running, by pipeline',
    labelNames: ['pipeline'],
    registers: [registry],
    async collect() {
      const gauges = await read();
      this.reset();
      for (const { pipeline, count } of gauges?.queueDepth ?? []) this.set({ pipeline }, count);
    },
  });
  new Gauge({
    name: 'sluice_dead_letters',
    help: 'Dead letters, by tenant',
    labelNames: ['tenant'],
    registers: [registry],
    async collect() {
      const gauges = await read();
      this.reset();
      for (const { tenantId, count } of gauges?.deadLetters ?? []) this.set({ tenant: tenantId }, count);
    },
  });
}
