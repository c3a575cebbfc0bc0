import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { LogHead } from '../../events/store.ts';
import { type LogPosition, openTransactions } from '../../events/types.ts';
import type { Cursor, EndpointKey, NewDelivery } from '../types.ts';

/**
 * An endpoint that is behind the log; the one that waited longest comes first. A cursor that has not come to the newest
 * partition yet is moved there, although nothing may have happened: it would keep older ones from being removed.
 */
export function findCursorBehind(tx: Tx, { era, low }: LogHead): Promise<Cursor | null> {
  return tx.find<Cursor>(sql`
    select c.tenant_id as "tenantId",
           c.webhook_id as "webhookId",
           c.position,
           c.moved_at::text as "movedAt",
           c.xid::text as "xid",
           c.event_id as "eventId",
           c.since::text as "since",
           e.event_types as "eventTypes"
      from webhook_cursors c
      join webhook_endpoints e on e.tenant_id = c.tenant_id and e.webhook_id = c.webhook_id
     where e.is_enabled
       and (c.era is distinct from ${era}
            or c.low < ${low}
            or c.position -> 'until' <> 'null'
            or exists (
              select from events v
               where v.tenant_id = c.tenant_id
                 and v.event_id > c.high
                 and v.event_id > ${low}::bigint)
            or exists (
              select from events v
               where v.tenant_id = c.tenant_id
                 and v.xid = any(c.open)
                 and v.event_id <= c.high
                 and v.event_id > ${low}::bigint))
     order by c.moved_at
     limit 1`);
}

/** False when another process has moved the cursor or is about to. */
export async function lockCursor(
  tx: Tx,
  { tenantId, webhookId, movedAt }: EndpointKey & { movedAt: string },
): Promise<boolean> {
  const held = await tx.find(sql`
    select c.webhook_id
      from webhook_cursors c
     where c.tenant_id = ${tenantId}
       and c.webhook_id = ${webhookId}
       and c.moved_at = ${movedAt}::timestamptz
       for no key update skip locked`);
  return held !== null;
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

/** Also for programs of the version before, which continue after all transactions that had ended. */
export async function moveCursor(
  tx: Tx,
  { tenantId, webhookId }: EndpointKey,
  { position, isDone }: { position: LogPosition; isDone: boolean },
): Promise<void> {
  const { era, seen } = position;
  await tx.run(sql`
    update webhook_cursors
       set era = ${era},
           position = ${JSON.stringify(position)}::jsonb,
           high = ${seen.high},
           low = ${seen.low},
           open = ${openTransactions(seen)}::text[]::xid8[],
           -- What was older than the endpoint has been passed.
           since = case when ${isDone}::boolean then '1:1:' else since end,
           xid = greatest(xid, pg_snapshot_xmin(${seen.snapshot}::pg_snapshot)),
           -- They must not pass over what the transaction wrote with lower ids.
           event_id = case when pg_snapshot_xmin(${seen.snapshot}::pg_snapshot) > xid then 0 else event_id end,
           moved_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and webhook_id = ${webhookId}`);
}

/** How long the oldest event waits that an enabled endpoint has not come to; zero when none waits. */
export async function readLagSeconds(tx: Tx, { low }: LogHead): Promise<number> {
  const row = await tx.find<{ seconds: number | null }>(sql`
    select extract(epoch from clock_timestamp() - min(next.occurred_at))::float8 as seconds
      from webhook_cursors c
      join webhook_endpoints w on w.tenant_id = c.tenant_id and w.webhook_id = c.webhook_id
     cross join lateral (
       select v.occurred_at
         from events v
        where v.tenant_id = c.tenant_id
          and v.event_id > c.high
          and v.event_id > ${low}::bigint
        order by v.event_id
        limit 1) next
     where w.is_enabled`);
  return row?.seconds ?? 0;
}
