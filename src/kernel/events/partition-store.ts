import type { Tx } from '../../lib/postgres/db.ts';
import { sql } from '../../lib/postgres/sql.ts';

/** Opens the next partition when the present one is a day old. Returns how many were opened. */
export async function rollLog(tx: Tx): Promise<number> {
  const row = await tx.find<{ opened: number }>(sql`select roll_event_log(interval '1 day') as opened`);
  return row?.opened ?? 0;
}

export interface OldPartition {
  fromId: number;
  /** An enabled endpoint has not come past it, or a delivery of one of its events is pending. */
  isNeeded: boolean;
}

/**
 * Partitions whose newest event is older than this: the next one was opened before. A disabled endpoint keeps only the
 * events of its pending deliveries.
 */
export function listOldPartitions(tx: Tx, { days }: { days: number }): Promise<OldPartition[]> {
  return tx.rows<OldPartition>(sql`
    select p.from_id as "fromId",
           exists (
             select from webhook_cursors c
               join webhook_endpoints w on w.tenant_id = c.tenant_id and w.webhook_id = c.webhook_id
              where w.is_enabled
                and (c.position is null or c.low + 1 < p.to_id))
           or exists (
             select from webhook_deliveries d
              where d.status = 'pending'
                and d.event_id >= p.from_id
                and d.event_id < p.to_id) as "isNeeded"
      from event_partitions p
     where exists (
       select from event_partitions n
        where n.from_id >= p.to_id
          and n.opened_at < (select clock_timestamp() - ${days} * interval '1 day'))
     order by p.from_id`);
}

/** False when somebody is using it: the next run tries again. */
export async function dropPartition(tx: Tx, fromId: number): Promise<boolean> {
  const row = await tx.find<{ dropped: boolean }>(sql`select drop_event_partition(${fromId}) as dropped`);
  return row?.dropped ?? false;
}
