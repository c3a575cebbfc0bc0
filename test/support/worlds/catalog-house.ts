import {
  type CatalogHouse,
  type CatalogHouseOptions,
  openCatalogHouse,
} from '../../../src/ingest/catalog/open.ts';
import type { Database } from '../../../src/lib/postgres/db.ts';
import { idleKernel } from './kernel.ts';

export function testCatalogHouse(db: Database, options: Partial<CatalogHouseOptions> = {}): CatalogHouse {
  const kernel = options.kernel ?? idleKernel(db);
  return openCatalogHouse({ db, ingestEnabled: true, maxUploadBytes: 100 * 1024 * 1024, ...options, kernel });
}
