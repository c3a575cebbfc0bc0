import { Histogram, type Registry } from 'prom-client';
import type { DatabaseOptions } from './db.ts';

/** For `onTransaction`: how long each transaction of this process waited for its connection. */
export function observePoolWait(registry: Registry): NonNullable<DatabaseOptions['onTransaction']> {
  const poolWait = new Histogram({
    name: 'sluice_pool_wait_seconds',
    help: 'How long transactions waited for a connection',
    buckets: [0.0001, 0.001, 0.01, 0.1, 1, 10],
    registers: [registry],
  });
  return ({ waitMs }) => poolWait.observe(waitMs / 1000);
}
