import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import { connectorColumns } from '../store.ts';
import type { Connector, ConnectorKey } from '../types.ts';

/** Connectors of all tenants that are due, or whose tenant's plan has changed since they were scheduled. */
export function listDue(tx: Tx, limit: number): Promise<ConnectorKey[]> {
  return tx.rows<ConnectorKey>(sql`
    (select c.tenant_id as "tenantId", c.connector_id as "connectorId"
       from connectors c
      where c.enabled
        and c.next_sync_at <= clock_timestamp()
      order by c.next_sync_at
      limit ${limit})
    union
    (select c.tenant_id, c.connector_id
       from connectors c
       join tenants t on t.tenant_id = c.tenant_id
      where c.planned_for <> t.plan
      limit ${limit})`);
}

/** The same for one tenant. */
export function listDueOf(
  tx: Tx,
  { tenantId, limit }: { tenantId: string; limit: number },
): Promise<ConnectorKey[]> {
  return tx.rows<ConnectorKey>(sql`
    select c.tenant_id as "tenantId", c.connector_id as "connectorId"
      from connectors c
      join tenants t on t.tenant_id = c.tenant_id
     where c.tenant_id = ${tenantId}
       and ((c.enabled and c.next_sync_at <= clock_timestamp()) or c.planned_for <> t.plan)
     order by c.next_sync_at
     limit ${limit}`);
}

export interface Planned extends Connector {
  /** The database's clock, which decides schedules. */
  now: Date;
}

/** Locks it; returns null when another worker holds it. */
export function lockPlanned(tx: Tx, { tenantId, connectorId }: ConnectorKey): Promise<Planned | null> {
  return tx.find<Planned>(sql`
    select ${connectorColumns}, clock_timestamp() as now
      from connectors c
      join tenants t on t.tenant_id = c.tenant_id
     where c.tenant_id = ${tenantId}
       and c.connector_id = ${connectorId}
       for no key update of c skip locked`);
}

export async function saveSchedule(
  tx: Tx,
  { tenantId, connectorId }: ConnectorKey,
  schedule: { nextSyncAt: Date; lastTickAt: Date; plannedFor: string },
): Promise<void> {
  await tx.run(sql`
    update connectors
       set next_sync_at = ${schedule.nextSyncAt},
           last_tick_at = ${schedule.lastTickAt},
           planned_for = ${schedule.plannedFor},
           updated_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and connector_id = ${connectorId}`);
}
