import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import { sourceColumns } from '../store.ts';
import type { Source, SourceKey } from '../types.ts';

/** Sources that are due, or whose tenant's plan has changed since they were scheduled; of one tenant or of all. */
export function listDue(
  tx: Tx,
  { tenantId, limit }: { tenantId: string | null; limit: number },
): Promise<SourceKey[]> {
  return tx.rows<SourceKey>(sql`
    select s.tenant_id as "tenantId", s.source_id as "sourceId"
      from upload_sources s
      join tenants t on t.tenant_id = s.tenant_id
     where (${tenantId}::text is null or s.tenant_id = ${tenantId})
       and ((s.enabled and s.next_pull_at <= clock_timestamp()) or s.planned_for <> t.plan)
     order by s.next_pull_at
     limit ${limit}`);
}

export interface Planned extends Source {
  /** The database's clock, which decides schedules. */
  now: Date;
}

/** Locks it; returns null when another process holds it. */
export function lockPlanned(tx: Tx, { tenantId, sourceId }: SourceKey): Promise<Planned | null> {
  return tx.find<Planned>(sql`
    select ${sourceColumns}, clock_timestamp() as now
      from upload_sources s
      join tenants t on t.tenant_id = s.tenant_id
     where s.tenant_id = ${tenantId}
       and s.source_id = ${sourceId}
       for no key update of s skip locked`);
}

export async function saveSchedule(
  tx: Tx,
  { tenantId, sourceId }: SourceKey,
  schedule: { nextPullAt: Date; lastTickAt: Date; plannedFor: string },
): Promise<void> {
  await tx.run(sql`
    update upload_sources
       set next_pull_at = ${schedule.nextPullAt},
           last_tick_at = ${schedule.lastTickAt},
           planned_for = ${schedule.plannedFor}
     where tenant_id = ${tenantId}
       and source_id = ${sourceId}`);
}
