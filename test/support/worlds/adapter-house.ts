import pino from 'pino';
import { Registry } from 'prom-client';
import {
  type AdapterHouse,
  type AdapterHouseOptions,
  openAdapterHouse,
} from '../../../src/ingest/adapters/house.ts';
import type { TargetDoors } from '../../../src/ingest/adapters/types.ts';
import type { ItemHouse } from '../../../src/ingest/items/house.ts';
import type { UploadHouse } from '../../../src/ingest/uploads/house.ts';
import { adapterDoors } from '../../../src/installation.ts';
import type { Kernel } from '../../../src/kernel/jobs/kernel.ts';
import { createGuardedFetch } from '../../../src/lib/fetch/guarded-fetch.ts';
import type { Database } from '../../../src/lib/postgres/db.ts';
import { testItemHouse } from './item-house.ts';
import { testUploadHouse } from './upload-house.ts';

/** The product's own ways into items and uploads. */
export function testDoors(db: Database, kernel: Kernel): TargetDoors {
  return adapterDoors({ items: testItemHouse(db), uploads: testUploadHouse(db) }, kernel);
}

/** Connected to the other houses as src/app.ts does it. */
export function testAdapterHouse(
  db: Database,
  houses: { items: ItemHouse; uploads: UploadHouse; kernel: Kernel },
  options: Partial<AdapterHouseOptions> = {},
): AdapterHouse {
  const adapters = openAdapterHouse({
    db,
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    // Test servers are on this machine.
    fetch: createGuardedFetch({ blockPrivateAddresses: false, userAgent: 'Sluice/test' }),
    secretOf: async (_tenantId, name) => `secret of ${name}`,
    blockPrivateAddresses: false,
    adapterFolder: null,
    adapterMaxCount: 100,
    leaseMs: 30_000,
    ...options,
  });
  const { kernel } = houses;
  adapters.connect({ doors: adapterDoors(houses, kernel), workerId: kernel.membership.workerId });
  return adapters;
}
