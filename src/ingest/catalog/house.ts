import type { RouteModule } from '../../kernel/http/route.ts';
import type { Kernel } from '../../kernel/jobs/kernel.ts';
import type { UpkeepTask } from '../../kernel/upkeep/types.ts';
import type { Database } from '../../lib/postgres/db.ts';
import { catalogLookups } from './matching/lookups.ts';
import { catalogRoutes } from './routes.ts';
import { removeUnusedVersions } from './service.ts';

export interface CatalogHouseOptions {
  db: Database;
  ingestEnabled: boolean;
  maxUploadBytes: number;
}

export interface CatalogHouse {
  routes(kernel: Kernel): RouteModule[];
  tasks: UpkeepTask[];
  /** For the processor `catalog` of items. */
  lookups: ReturnType<typeof catalogLookups>;
}

export function openCatalogHouse(options: CatalogHouseOptions): CatalogHouse {
  const { db } = options;
  return {
    routes: (kernel) => [catalogRoutes({ ...options, workerId: kernel.membership.workerId })],
    tasks: [{ name: 'remove_unused_catalog_versions', everyMs: 60_000, run: () => removeUnusedVersions(db) }],
    lookups: catalogLookups(db),
  };
}
