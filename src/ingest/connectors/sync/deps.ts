import type { WakeUp } from '../../../kernel/jobs/wake-up.ts';
import type { RateLimits } from '../../../kernel/limits/rate-limits.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import type { Clock } from '../../../lib/timing/clock.ts';
import type { SyncPolicy } from '../types.ts';
import type { AirbyteCallDeps } from './airbyte-calls.ts';

/** What the slices of syncs need. */
export interface SyncWorkerDeps extends AirbyteCallDeps {
  db: Database;
  wake: WakeUp;
  limits: RateLimits;
  clock: Clock;
  policy: SyncPolicy;
}
