import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { Cursor, EndpointKey, LoggedEvent, NewDelivery } from '../types.ts';

/** An endpoint that is behind the log and not locked by another process; the one that waited longest comes first. */
export function lockCursorBehind(tx: Tx): Promise<Cursor | null> {
  return tx.find<Cursor>(sql`
    select c.tenant_id as "tenantId",
           c.webhook_id as "webhookId",
           c.xid::text as "xid",
           c.event_id as "eventId",
           e.event_types as "eventTypes"
      from webhook_cursors c
      join webhook_endpoints e on e.tenant_id = c.tenant_id and e.webhook_id = c.webhook_id
     where e.is_enabled
       and exists (
         select from events v
          where v.tenant_id = c.tenant_id
            and (v.xid, v.event_id) > (c.xid, c.event_id)
            and v.xid < pg_snapshot_xmin(pg_current_snapshot()))
     order by c.moved_at
     limit 1
       for no key update of c skip locked`);
}

/** In the log's order and only up to the oldest open transaction, like every reader of the log. */
export function listEventsBehind(
  tx: Tx,
  { cursor, limit }: { cursor: Cursor; limit: number },
): Promise<LoggedEvent[]> {
  return tx.rows<LoggedEvent>(sql`
    select e.xid::text as "xid",
           e.event_id as "eventId",
           e.type,
           e.subject,
           pg_visible_in_snapshot(e.xid, c.since) as "isOlder"
      from webhook_cursors c
      join events e on e.tenant_id = c.tenant_id
     where c.tenant_id = ${cursor.tenantId}
       and c.webhook_id = ${cursor.webhookId}
       and e.tenant_id = ${cursor.tenantId}
       and (e.xid, e.event_id) > (${cursor.xid}::xid8, ${cursor.eventId}::bigint)
       and e.xid < pg_snapshot_xmin(pg_current_snapshot())
     order by e.xid, e.event_id
     limit ${limit}`);
}

/**
 * `do update` instead of `do nothing`, although nothing changes: it locks an existing lane, so that a sender that has
 * just delivered the last event of the lane cannot remove it before it sees the new one.
 */
export async function insertLanes(
  tx: Tx,
  { tenantId, webhookId, lanes }: EndpointKey & { lanes: string[] },
): Promise<void> {
  await tx.run(sql`
    insert into webhook_lanes as l (tenant_id, webhook_id, lane)
    select ${tenantId}, ${webhookId}::uuid, n.lane
      from unnest(${lanes}::text[]) as n (lane)
     order by n.lane
    on conflict (tenant_id, webhook_id, lane) do update
       set lane = excluded.lane
     where false`);
}

export function insertDeliveries(
  tx: Tx,
  { tenantId, webhookId }: EndpointKey,
  { deliveries, maxTries }: { deliveries: NewDelivery[]; maxTries: number },
): Promise<number> {
  return tx.run(sql`
    insert into webhook_deliveries (
      tenant_id, webhook_id, delivery_id, event_xid, event_id, event_type, lane, max_tries)
    select ${tenantId}, ${webhookId}::uuid, n.delivery_id, n.xid::xid8, n.event_id, n.type, n.lane, ${maxTries}::integer
      from unnest(
        ${deliveries.map(({ deliveryId }) => deliveryId)}::uuid[],
        ${deliveries.map(({ xid }) => xid)}::text[],
        ${deliveries.map(({ eventId }) => eventId)}::bigint[],
        ${deliveries.map(({ type }) => type)}::text[],
        ${deliveries.map(({ lane }) => lane)}::text[]) as n (delivery_id, xid, event_id, type, lane)
    on conflict (tenant_id, webhook_id, event_id) do nothing`);
}

export async function moveCursor(
  tx: Tx,
  { tenantId, webhookId, xid, eventId }: EndpointKey & { xid: string; eventId: number },
): Promise<void> {
  await tx.run(sql`
    update webhook_cursors
       set xid = ${xid}::xid8,
           event_id = ${eventId},
           moved_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and webhook_id = ${webhookId}`);
}
