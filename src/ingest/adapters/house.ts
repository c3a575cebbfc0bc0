import type { Registry } from 'prom-client';
import type { RouteModule } from '../../kernel/http/route.ts';
import type { UpkeepTask } from '../../kernel/upkeep/types.ts';
import type { GuardedFetch } from '../../lib/fetch/guarded-fetch.ts';
import type { Logger } from '../../lib/log.ts';
import type { Database } from '../../lib/postgres/db.ts';
import { AdapterMetrics } from './metrics.ts';
import { adapterRoutes } from './routes.ts';
import { ScanScheduler } from './scan/scheduler.ts';
import type { AdapterDeps } from './service.ts';
import { oldestSuccessSeconds } from './store.ts';
import type { TargetDoors } from './types.ts';

export interface AdapterHouseOptions {
  db: Database;
  logger: Logger;
  registry: Registry;
  fetch: GuardedFetch;
  secretOf(tenantId: string, name: string): Promise<string>;
  blockPrivateAddresses: boolean;
  adapterFolder: string | null;
  adapterMaxCount: number;
  /** How long a scan may miss its heartbeats before another process takes over. */
  leaseMs: number;
}

/** The house of adapters, wired. */
export interface AdapterHouse {
  /** Connects the houses that ingest files. They need a kernel, so they are opened after this one. */
  connect(given: { doors: TargetDoors; workerId: string }): void;
  routes: RouteModule;
  tasks: UpkeepTask[];
  /** Runs the due scans and waits for them, for installations that only a cron job drives. */
  scanDue(): Promise<void>;
  stop(): Promise<void>;
}

const lookEveryMs = 2_000;

export function openAdapterHouse(options: AdapterHouseOptions): AdapterHouse {
  const { db, logger } = options;
  const adapterMetrics = new AdapterMetrics(options.registry);
  adapterMetrics.watchOldest(() => readOldest(options));
  let connected: { doors: TargetDoors; workerId: string } | undefined;
  const depsOf = (): AdapterDeps => {
    if (!connected) throw new Error('The adapters house is not connected to the other houses yet');
    return { ...options, ...connected, adapterMetrics };
  };
  const scheduler = new ScanScheduler(depsOf, logger);
  return {
    connect(given) {
      connected = given;
    },
    routes: adapterRoutes(depsOf),
    tasks: [{ name: 'scan_adapters', everyMs: lookEveryMs, run: () => scheduler.startDue() }],
    scanDue: () => scheduler.runDue(),
    stop: () => scheduler.stop(),
  };

  /** Reading the metrics must not fail when the database does. */
  async function readOldest({ logger: log }: AdapterHouseOptions): Promise<number | null> {
    try {
      return await db.kernel(oldestSuccessSeconds);
    } catch (error) {
      log.warn({ err: error }, 'the age of the last scans could not be read for the metrics');
      return null;
    }
  }
}
