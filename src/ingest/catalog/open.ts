import type { CatalogDoor } from '../../kernel/house/doors.ts';
import type { Ground, OpenHouse } from '../../kernel/house/house.ts';
import type { RouteModule } from '../../kernel/http/route.ts';
import { catalogFindables } from './find-store.ts';
import { catalogLookups } from './matching/lookups.ts';
import { catalogRoutes } from './routes.ts';
import { removeUnusedVersions } from './service.ts';

export interface CatalogHouseOptions extends Pick<Ground, 'db' | 'kernel' | 'workbooks'> {
  ingestEnabled: boolean;
  maxUploadBytes: number;
}

export interface CatalogHouse extends OpenHouse {
  routes: RouteModule[];
  /** For the processor `catalog`. */
  door: CatalogDoor;
}

export function openCatalogHouse(options: CatalogHouseOptions): CatalogHouse {
  const { db, kernel } = options;
  return {
    findables: catalogFindables,
    routes: [catalogRoutes({ ...options, workerId: kernel.membership.workerId })],
    tasks: [{ name: 'remove_unused_catalog_versions', everyMs: 60_000, run: () => removeUnusedVersions(db) }],
    door: catalogLookups(db),
  };
}
