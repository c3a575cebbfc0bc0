import type { Registry } from 'prom-client';
import { metricsOf } from '../../metrics.ts';
import type { DatabaseOptions } from '../db.ts';

/** For `onTransaction`: how long each transaction of this process waited for its connection. */
export function observePoolWait(registry: Registry): NonNullable<DatabaseOptions['onTransaction']> {
  const help = 'How long transactions waited for a connection';
  const buckets = [0.0001, 0.001, 0.01, 0.1, 1, 10];
  const poolWait = metricsOf(registry).histogram('sluice_pool_wait_seconds', help, { buckets });
  return ({ waitMs }) => poolWait.observe(waitMs / 1000);
}
