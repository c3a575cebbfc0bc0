import { tmpdir } from 'node:os';
import pino from 'pino';
import { Registry } from 'prom-client';
import { type ItemHouse, type ItemHouseOptions, openItemHouse } from '../../../src/ingest/items/open.ts';
import { createFiles } from '../../../src/kernel/files/backends.ts';
import { Workbooks } from '../../../src/kernel/files/workbooks.ts';
import { createGuardedFetch } from '../../../src/lib/fetch/guarded-fetch.ts';
import type { Database } from '../../../src/lib/postgres/db.ts';
import { testCatalogHouse } from './catalog-house.ts';
import { itemBounds } from './item-bounds.ts';
import { idleKernel } from './kernel.ts';
import { secretsHere } from './secrets.ts';

export function testItemHouse(db: Database, options: Partial<ItemHouseOptions> = {}): ItemHouse {
  return openItemHouse({
    db,
    kernel: options.kernel ?? idleKernel(db),
    files: createFiles({ filesBackend: 'local', dataDir: tmpdir() }),
    workbooks: new Workbooks({ perTenant: 4 }),
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    fetch: createGuardedFetch({ blockPrivateAddresses: false, userAgent: 'Sluice/test' }),
    catalogs: testCatalogHouse(db).door,
    secrets: secretsHere((name) => `secret of ${name}`),
    bounds: itemBounds,
    ingestEnabled: true,
    globalPendingEnabled: true,
    maxUploadBytes: 100 * 1024 * 1024,
    maxOpenItems: 1_000_000,
    jobRetentionDays: 90,
    ingestFolder: null,
    ...options,
  });
}
