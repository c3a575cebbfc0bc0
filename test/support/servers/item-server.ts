import type { ItemHouseOptions } from '../../../src/ingest/items/open.ts';
import type { RouteModule } from '../../../src/kernel/http/route.ts';
import type { Kernel } from '../../../src/kernel/jobs/kernel.ts';
import { jobRoutes } from '../../../src/kernel/jobs/routes.ts';
import { testCatalogHouse } from '../worlds/catalog-house.ts';
import type { TestDatabase } from '../worlds/database.ts';
import { testItemHouse } from '../worlds/item-house.ts';
import { useHouse } from '../worlds/kernel.ts';
import { useServer } from './server.ts';

/** The house of items, a kernel that is driven by hand, and a server. */
export function useItemServer(
  database: TestDatabase,
  options: Partial<ItemHouseOptions> = {},
  otherRoutes: (kernel: Kernel) => RouteModule[] = () => [],
) {
  const { held, open } = useHouse(database, (kernel) => testItemHouse(database.db, { kernel, ...options }));
  const routes: RouteModule = (app, deps) => {
    jobRoutes(held.kernel, open().details)(app, deps);
    const catalogs = testCatalogHouse(database.db, { kernel: held.kernel }).routes;
    for (const module of [...open().routes, ...catalogs, ...otherRoutes(held.kernel)]) module(app, deps);
  };
  return { open, held, server: useServer(database, { routes: [routes] }) };
}
