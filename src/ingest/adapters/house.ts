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
  /** How long a scan may be silent before another process takes over. */
  leaseMs: number;
}

/** The house of adapters, wired. */
export interface AdapterHouse {
  /** The ways into the houses that make something of files: they need a kernel, so they come after this one. */
  connect(given: { doors: TargetDoors; workerId: string }): void;
  routes: RouteModule;
  tasks: UpkeepTask[];
  /** Scans what is due and waits for it, for installations that only a cron drives. */
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
    if (!connected) throw new Error('The house of adapters is not connected to the other houses yet');
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

  /** A scrape of the metrics must not fail because the database does. */
  async function readOldest({ logger: log }: AdapterHouseOptions): Promise<number | null> {
    try {
      return await db.kernel(oldestSuccessSeconds);
    } catch (error) {
      log.warn({ err: error }, 'the age of scans could not be read for the metrics');
      return null;
    }
  }
}
