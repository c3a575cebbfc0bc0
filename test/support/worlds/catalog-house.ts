import {
  type CatalogHouse,
  type CatalogHouseOptions,
  openCatalogHouse,
} from '../../../src/ingest/catalog/open.ts';
import { Workbooks } from '../../../src/kernel/files/workbooks.ts';
import type { Database } from '../../../src/lib/postgres/db.ts';
import { idleKernel } from './kernel.ts';

export function testCatalogHouse(db: Database, options: Partial<CatalogHouseOptions> = {}): CatalogHouse {
  const kernel = options.kernel ?? idleKernel(db);
  const workbooks = new Workbooks({ perTenant: 4 });
  const limits = { ingestEnabled: true, maxUploadBytes: 100 * 1024 * 1024 };
  return openCatalogHouse({ db, workbooks, ...limits, ...options, kernel });
}
