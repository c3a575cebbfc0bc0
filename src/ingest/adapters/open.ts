import type { FilePlaceDoor } from '../../kernel/house/doors.ts';
import type { Ground, OpenHouse } from '../../kernel/house/house.ts';
import { adapterFindables } from './find-store.ts';
import { AdapterMetrics } from './metrics.ts';
import { adapterRoutes } from './routes.ts';
import { ScanScheduler } from './scan/scheduler.ts';
import { filePlaces } from './sources/file-places.ts';
import { oldestSuccessSeconds } from './store.ts';
import type { TargetDoors } from './types.ts';

export interface AdapterHouseOptions
  extends Pick<Ground, 'db' | 'logger' | 'registry' | 'fetch' | 'secrets' | 'kernel'> {
  /** The ways into the houses that make something of files. */
  doors: TargetDoors;
  blockPrivateAddresses: boolean;
  adapterFolder: string | null;
  adapterMaxCount: number;
  /** How long a scan may be silent before another process takes over. */
  leaseMs: number;
}

const lookEveryMs = 2_000;

export type AdapterHouse = ReturnType<typeof openAdapterHouse>;

export function openAdapterHouse(options: AdapterHouseOptions) {
  const adapterMetrics = new AdapterMetrics(options.registry);
  adapterMetrics.watchOldest(() => options.db.kernel(oldestSuccessSeconds), options.logger);
  const deps = { ...options, workerId: options.kernel.membership.workerId, adapterMetrics };
  const scheduler = new ScanScheduler(deps, options.logger);
  return {
    routes: [adapterRoutes(deps)],
    findables: adapterFindables,
    // For houses that read files without an adapter.
    door: filePlaces(options),
    tasks: [{ name: 'scan_adapters', everyMs: lookEveryMs, run: () => scheduler.startDue() }],
    // Where only a cron works, its cycle scans what is due and waits for it.
    beforeCycle: async ({ tenantId }) => {
      if (tenantId === undefined) await scheduler.runDue();
    },
    stop: () => scheduler.stop(),
  } satisfies OpenHouse & { door: FilePlaceDoor };
}
