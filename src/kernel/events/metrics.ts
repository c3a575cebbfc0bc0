import type { Registry } from 'prom-client';
import type { Logger } from '../../lib/log.ts';
import { readGauge } from '../../lib/metrics.ts';
import type { Database } from '../../lib/postgres/db.ts';
import { findHeldBack } from './store.ts';

/**
 * Readers stop at the oldest open transaction of the whole cluster, including other databases: this shows how far
 * they are held back.
 */
export function installEventMetrics(
  registry: Registry,
  { db, logger }: { db: Database; logger: Logger },
): void {
  const help = 'Age of the oldest event that an older open transaction keeps from readers';
  readGauge(registry, { name: 'sluice_event_reader_lag_seconds', help, logger }, async (gauge) => {
    gauge.set((await db.kernel(findHeldBack))?.ageSeconds ?? 0);
  });
}
