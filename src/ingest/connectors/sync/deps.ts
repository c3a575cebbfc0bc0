import type { Ground } from '../../../kernel/house/house.ts';
import type { WakeUp } from '../../../kernel/jobs/wake-up.ts';
import type { Clock } from '../../../lib/timing/clock.ts';
import type { SyncPolicy } from '../types.ts';
import type { AirbyteCallDeps } from './airbyte-calls.ts';

/** What the slices of syncs need. */
export interface SyncWorkerDeps extends AirbyteCallDeps, Pick<Ground, 'db' | 'limits'> {
  wake: WakeUp;
  clock: Clock;
  policy: SyncPolicy;
}
