import pino from 'pino';
import type { AdapterHouse } from '../../../src/ingest/adapters/open.ts';
import { openPullHouse } from '../../../src/ingest/pulls/open.ts';
import type { UploadHouse } from '../../../src/ingest/uploads/open.ts';
import { Doors } from '../../../src/kernel/house/doors.ts';
import type { Kernel } from '../../../src/kernel/jobs/kernel.ts';
import { createGuardedFetch } from '../../../src/lib/fetch/guarded-fetch.ts';
import type { Database } from '../../../src/lib/postgres/db.ts';
import { secretsHere } from './secrets.ts';

/** Connected to the other houses as the product does it. */
export function testPullHouse(
  db: Database,
  { uploads, adapters, kernel }: { uploads: UploadHouse; adapters: AdapterHouse; kernel: Kernel },
) {
  const doors = new Doors();
  doors.offer('reports', uploads.door);
  doors.offer('filePlaces', adapters.door);
  return openPullHouse({
    ...{ db, kernel, doors },
    logger: pino({ level: 'silent' }),
    // Test servers are on this machine.
    fetch: createGuardedFetch({ blockPrivateAddresses: false, userAgent: 'Sluice/test' }),
    secrets: secretsHere((name) => `secret of ${name}`),
    uploadSourceMaxCount: 200,
    pullRetryBaseSeconds: 60,
    pullPollSeconds: 10,
  });
}
