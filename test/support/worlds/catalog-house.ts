import { type CatalogHouse, openCatalogHouse } from '../../../src/ingest/catalog/house.ts';
import type { Database } from '../../../src/lib/postgres/db.ts';

export function testCatalogHouse(db: Database): CatalogHouse {
  return openCatalogHouse({ db, ingestEnabled: true, maxUploadBytes: 100 * 1024 * 1024 });
}
