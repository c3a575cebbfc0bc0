import pino from 'pino';
import { Registry } from 'prom-client';
import { doorFor } from '../../../src/ingest/adapters/house.ts';
import {
  type AdapterHouse,
  type AdapterHouseOptions,
  openAdapterHouse,
} from '../../../src/ingest/adapters/open.ts';
import type { TargetDoors } from '../../../src/ingest/adapters/types.ts';
import type { ItemHouse } from '../../../src/ingest/items/open.ts';
import type { UploadHouse } from '../../../src/ingest/uploads/open.ts';
import type { Kernel } from '../../../src/kernel/jobs/kernel.ts';
import { createGuardedFetch } from '../../../src/lib/fetch/guarded-fetch.ts';
import type { Database } from '../../../src/lib/postgres/db.ts';
import { testItemHouse } from './item-house.ts';
import { secretsHere } from './secrets.ts';
import { testUploadHouse } from './upload-house.ts';

/** The product's own ways into items and uploads. */
export function testDoors(db: Database, kernel: Kernel): TargetDoors {
  return doorsOf({ items: testItemHouse(db, { kernel }), uploads: testUploadHouse(db, { kernel }) });
}

function doorsOf({ items, uploads }: { items: ItemHouse; uploads: UploadHouse }): TargetDoors {
  return { items: doorFor('items', () => items.door), uploads: doorFor('uploads', () => uploads.door) };
}

/** Connected to the other houses as the product does it. */
export function testAdapterHouse(
  db: Database,
  houses: { items: ItemHouse; uploads: UploadHouse; kernel: Kernel },
  options: Partial<AdapterHouseOptions> = {},
): AdapterHouse {
  return openAdapterHouse({
    db,
    kernel: houses.kernel,
    doors: doorsOf(houses),
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    // Test servers are on this machine.
    fetch: createGuardedFetch({ blockPrivateAddresses: false, userAgent: 'Sluice/test' }),
    secrets: secretsHere((name) => `secret of ${name}`),
    blockPrivateAddresses: false,
    adapterFolder: null,
    adapterMaxCount: 100,
    leaseMs: 30_000,
    ...options,
  });
}
