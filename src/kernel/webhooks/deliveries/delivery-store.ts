import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { Attempt, Delivery, DeliveryKey, DeliveryStatus, EndpointKey } from '../types.ts';

const deliveryColumns = sql`
  d.tenant_id as "tenantId", d.delivery_id as "deliveryId", d.webhook_id as "webhookId",
  d.event_xid::text as "eventXid", d.event_id as "eventId", d.event_type as "eventType",
  event_era(d.event_id) as "era",
  (select v.subject
     from events v
    where v.tenant_id = d.tenant_id
      and v.event_id = d.event_id) as "subject",
  d.status, d.attempt_count as "attemptCount", d.last_attempt_at as "lastAttemptAt",
  d.last_status_code as "lastStatusCode", d.last_error as "lastError", d.last_duration_ms as "lastDurationMs",
  (select l.due_at
     from webhook_lanes l
    where d.status = 'pending'
      and l.tenant_id = d.tenant_id
      and l.webhook_id = d.webhook_id
      and l.lane = d.lane
      and l.token is null) as "nextAttemptAt",
  d.created_at as "createdAt", d.finished_at as "finishedAt"`;

/** Newest first. */
export function listDeliveries(
  tx: Tx,
  page: EndpointKey & { status: DeliveryStatus | null; limit: number; after: string | null },
): Promise<Delivery[]> {
  return tx.rows<Delivery>(sql`
    select ${deliveryColumns}
      from webhook_deliveries d
     where d.tenant_id = ${page.tenantId}
       and d.webhook_id = ${page.webhookId}
       and (${page.status}::text is null or d.status = ${page.status}::text)
       and (${page.after}::uuid is null or d.delivery_id < ${page.after}::uuid)
     order by d.delivery_id desc
     limit ${page.limit}`);
}

/** Null also when its endpoint was deleted and upkeep has not removed the delivery yet. */
export function findDelivery(
  tx: Tx,
  { tenantId, deliveryId }: DeliveryKey,
): Promise<(Delivery & { attempts: Attempt[]; lane: string }) | null> {
  return tx.find(sql`
    select ${deliveryColumns}, d.attempts, d.lane
      from webhook_deliveries d
      join webhook_endpoints e on e.tenant_id = d.tenant_id and e.webhook_id = d.webhook_id
     where d.tenant_id = ${tenantId}
       and d.delivery_id = ${deliveryId}`);
}

/** In a lane of its own, so that it does not wait for anything. */
export async function insertDelivery(
  tx: Tx,
  delivery: DeliveryKey & { webhookId: string; xid: string; eventId: number; type: string; maxTries: number },
): Promise<void> {
  const { tenantId, deliveryId, webhookId, xid, eventId, type, maxTries } = delivery;
  await tx.run(sql`
    insert into webhook_deliveries (
      tenant_id, delivery_id, webhook_id, event_xid, event_id, event_type, lane, max_tries)
    values (
      ${tenantId}, ${deliveryId}::uuid, ${webhookId}, ${xid}::xid8, ${eventId}, ${type}, ${deliveryId}::uuid::text,
      ${maxTries})`);
}

/** Sends a finished one again, with all its tries, in a lane of its own: later events do not wait for it. */
export async function reopenDelivery(
  tx: Tx,
  { tenantId, deliveryId, maxTries }: DeliveryKey & { maxTries: number },
): Promise<boolean> {
  const reopened = await tx.run(sql`
    update webhook_deliveries d
       set status = 'pending',
           finished_at = null,
           tries = 0,
           max_tries = ${maxTries},
           lane = d.delivery_id::text
     where d.tenant_id = ${tenantId}
       and d.delivery_id = ${deliveryId}
       and d.status <> 'pending'`);
  return reopened === 1;
}

export async function bringLaneForward(
  tx: Tx,
  { tenantId, webhookId, lane }: EndpointKey & { lane: string },
): Promise<void> {
  await tx.run(sql`
    update webhook_lanes l
       set due_at = greatest(clock_timestamp(), l.not_before)
     where l.tenant_id = ${tenantId}
       and l.webhook_id = ${webhookId}
       and l.lane = ${lane}
       and l.token is null`);
}

/** All deliveries of an endpoint, or only the pending ones. */
export function deleteDeliveriesOf(
  tx: Tx,
  { tenantId, webhookId, onlyPending, limit }: EndpointKey & { onlyPending: boolean; limit: number },
): Promise<number> {
  return tx.run(sql`
    delete from webhook_deliveries
     where ctid = any(array(
       select d.ctid
         from webhook_deliveries d
        where d.tenant_id = ${tenantId}
          and d.webhook_id = ${webhookId}
          and (d.status = 'pending' or not ${onlyPending}::boolean)
        limit ${limit}))`);
}

export function purgeFinished(tx: Tx, { days, limit }: { days: number; limit: number }): Promise<number> {
  return tx.run(sql`
    delete from webhook_deliveries
     where ctid = any(array(
       select d.ctid
         from webhook_deliveries d
        where d.finished_at < (select clock_timestamp() - ${days} * interval '1 day')
        limit ${limit}))`);
}

/**
 * Endpoints that have deliveries but were deleted, or were disabled so long ago. Walks the index from endpoint to
 * endpoint instead of reading all deliveries.
 */
export function listUnwanted(
  tx: Tx,
  { days }: { days: number },
): Promise<(EndpointKey & { isGone: boolean })[]> {
  return tx.rows<EndpointKey & { isGone: boolean }>(sql`
    with recursive owner as (
      (select d.tenant_id, d.webhook_id
         from webhook_deliveries d
        order by d.tenant_id, d.webhook_id
        limit 1)
      union all
      select n.tenant_id, n.webhook_id
        from owner o
       cross join lateral (
         select d.tenant_id, d.webhook_id
           from webhook_deliveries d
          where (d.tenant_id, d.webhook_id) > (o.tenant_id, o.webhook_id)
          order by d.tenant_id, d.webhook_id
          limit 1) n
    )
    select o.tenant_id as "tenantId",
           o.webhook_id as "webhookId",
           e.webhook_id is null as "isGone"
      from owner o
      left join webhook_endpoints e on e.tenant_id = o.tenant_id and e.webhook_id = o.webhook_id
     where e.webhook_id is null
        or e.disabled_at < clock_timestamp() - ${days} * interval '1 day'`);
}

export function findBacklog(tx: Tx): Promise<{ pending: number; oldestSeconds: number } | null> {
  return tx.find(sql`
    select count(*) as "pending",
           coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0)::float8 as "oldestSeconds"
      from webhook_deliveries
     where status = 'pending'`);
}
