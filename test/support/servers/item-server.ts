import { afterAll } from 'vitest';
import type { ItemHouse, ItemHouseOptions } from '../../../src/ingest/items/house.ts';
import type { RouteModule } from '../../../src/kernel/http/route.ts';
import type { Kernel } from '../../../src/kernel/jobs/kernel.ts';
import { jobRoutes } from '../../../src/kernel/jobs/routes.ts';
import type { Pipeline } from '../../../src/kernel/jobs/types.ts';
import { testCatalogHouse } from '../worlds/catalog-house.ts';
import type { TestDatabase } from '../worlds/database.ts';
import { testItemHouse } from '../worlds/item-house.ts';
import { useKernel } from '../worlds/kernel.ts';
import { useServer } from './server.ts';

/**
 * The house of items, a kernel that is driven by hand, and a server. The database is there only once the tests run, so
 * the house is opened with its first use.
 */
export function useItemServer(
  database: TestDatabase,
  options: Partial<ItemHouseOptions> = {},
  otherRoutes: (kernel: Kernel) => RouteModule[] = () => [],
) {
  let house: ItemHouse | undefined;
  const open = (): ItemHouse => {
    house ??= testItemHouse(database.db, options);
    return house;
  };
  afterAll(() => house?.close());
  const latePipeline: Pipeline = {
    name: 'items',
    maxRetries: 0,
    advance: (slice) => open().pipeline.advance(slice),
    takeTurn: (turn) => (open().pipeline.takeTurn as NonNullable<Pipeline['takeTurn']>)(turn),
    cleanUp: (slice) => (open().pipeline.cleanUp as NonNullable<Pipeline['cleanUp']>)(slice),
    onError: (error, job) => open().pipeline.onError(error, job),
    remaining: (job) => open().pipeline.remaining?.(job) ?? null,
  };
  const held = useKernel(database, {
    pipelines: [latePipeline],
    onWorkersLost: (kernel: Kernel, ids: string[]) => open().onWorkersLost(kernel, ids),
  });
  const routes: RouteModule = (app, deps) => {
    jobRoutes(held.kernel, open().details)(app, deps);
    const catalogs = testCatalogHouse(database.db).routes(held.kernel);
    const modules = [...open().routes(held.kernel), ...catalogs, ...otherRoutes(held.kernel)];
    for (const module of modules) module(app, deps);
  };
  return { open, held, server: useServer(database, { routes: [routes] }) };
}
