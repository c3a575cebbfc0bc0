import type { Tx } from '../../../lib/postgres/db.ts';
import { listEventsByKey } from '../../events/store.ts';
import type { DueDelivery, Lease } from '../types.ts';
import { listFirstDeliveries } from './lane-store.ts';

/** The first delivery of each leased lane with its event, which is null when its retention has ended. */
export async function listDue(tx: Tx, leases: readonly Lease[]): Promise<DueDelivery[]> {
  const first = await listFirstDeliveries(tx, leases);
  const events = await listEventsByKey(tx, first);
  return first.map(({ eventId, ...due }) => ({
    ...due,
    event: events.find((event) => event.tenantId === due.tenantId && event.eventId === eventId) ?? null,
  }));
}
