import type { Tx } from '../../../lib/postgres/db.ts';
import { type Sql, sql } from '../../../lib/postgres/sql.ts';
import type { Attempt, DeliveryKey, DueDelivery, EndpointKey, Lease } from '../types.ts';

export function enabledStatement(): Sql {
  return sql`select exists (select from webhook_endpoints e where e.is_enabled) as "isThere"`;
}

/**
 * Endpoints with something due; those served longest ago come first. They stay locked until the leases are written, so
 * that each endpoint's limit is exact. Endpoints that another sender has locked are skipped.
 */
export function lockDueEndpoints(tx: Tx, { limit }: { limit: number }): Promise<EndpointKey[]> {
  // A subselect, because a volatile function cannot be looked up in an index.
  return tx.rows<EndpointKey>(sql`
    select e.tenant_id as "tenantId",
           e.webhook_id as "webhookId"
      from webhook_endpoints e
     where e.is_enabled
       and exists (
         select from webhook_lanes l
          where l.tenant_id = e.tenant_id
            and l.webhook_id = e.webhook_id
            and l.due_at <= (select clock_timestamp()))
     order by e.served_at
     limit ${limit}
       for no key update of e skip locked`);
}

/**
 * Leases due lanes of these endpoints: as many as each may have in flight, but only one of an endpoint that keeps
 * failing, so that endpoints that work do not wait for it.
 */
export function leaseLanes(
  tx: Tx,
  claim: {
    endpoints: EndpointKey[];
    limit: number;
    perEndpoint: number;
    failingAfter: number;
    leaseMs: number;
  },
): Promise<Lease[]> {
  return tx.rows<Lease>(sql`
    with free as (
      select e.tenant_id, e.webhook_id,
             case when e.failures_in_row >= ${claim.failingAfter} then 1 else ${claim.perEndpoint}::integer end
             - (select count(*)
                  from webhook_lanes l
                 where l.tenant_id = e.tenant_id
                   and l.webhook_id = e.webhook_id
                   and l.token is not null
                   and l.due_at > clock_timestamp()) as room
        from unnest(
          ${claim.endpoints.map(({ tenantId }) => tenantId)}::text[],
          ${claim.endpoints.map(({ webhookId }) => webhookId)}::uuid[]) as n (tenant_id, webhook_id)
        join webhook_endpoints e on e.tenant_id = n.tenant_id and e.webhook_id = n.webhook_id
    ), due as (
      select l.tenant_id, l.webhook_id, l.lane
        from free f
       cross join lateral (
         select w.tenant_id, w.webhook_id, w.lane
           from webhook_lanes w
          where w.tenant_id = f.tenant_id
            and w.webhook_id = f.webhook_id
            and w.due_at <= (select clock_timestamp())
          order by w.due_at
          limit greatest(f.room, 0)
            for update skip locked) l
       limit ${claim.limit}
    ), served as (
      update webhook_endpoints e
         set served_at = clock_timestamp()
        from (select distinct d.tenant_id, d.webhook_id from due d) t
       where e.tenant_id = t.tenant_id
         and e.webhook_id = t.webhook_id
    )
    update webhook_lanes w
       set token = gen_random_uuid(),
           due_at = clock_timestamp() + ${claim.leaseMs} * interval '1 millisecond'
      from due d
     where w.tenant_id = d.tenant_id
       and w.webhook_id = d.webhook_id
       and w.lane = d.lane
    returning w.tenant_id as "tenantId", w.webhook_id as "webhookId", w.lane, w.token`);
}

export type FirstDelivery = Omit<DueDelivery, 'event'> & { eventId: number };

/** The first of each lane; a lane without one is left out. */
export function listFirstDeliveries(tx: Tx, leases: readonly Lease[]): Promise<FirstDelivery[]> {
  return tx.rows<FirstDelivery>(sql`
    select n.tenant_id as "tenantId", n.webhook_id as "webhookId", n.lane, n.token, d.delivery_id as "deliveryId",
           d.tries, d.max_tries as "maxTries", e.url, e.secret, d.event_id as "eventId",
           case when e.old_secret_until > clock_timestamp() then e.old_secret end as "oldSecret"
      from unnest(
        ${leases.map(({ tenantId }) => tenantId)}::text[],
        ${leases.map(({ webhookId }) => webhookId)}::uuid[],
        ${leases.map(({ lane }) => lane)}::text[],
        ${leases.map(({ token }) => token)}::uuid[]) as n (tenant_id, webhook_id, lane, token)
      join webhook_endpoints e on e.tenant_id = n.tenant_id and e.webhook_id = n.webhook_id
     cross join lateral (
       select p.delivery_id, p.tries, p.max_tries, p.event_id
         from webhook_deliveries p
        where p.tenant_id = n.tenant_id
          and p.webhook_id = n.webhook_id
          and p.lane = n.lane
          and p.status = 'pending'
        order by p.event_id
        limit 1) d`);
}

/** False when the lease has gone to another sender: then the result of this one does not count. */
export async function lockLane(tx: Tx, { tenantId, webhookId, lane, token }: Lease): Promise<boolean> {
  const held = await tx.find(sql`
    select w.lane
      from webhook_lanes w
     where w.tenant_id = ${tenantId}
       and w.webhook_id = ${webhookId}
       and w.lane = ${lane}
       and w.token = ${token}
       for update`);
  return held !== null;
}

/** How many attempts a delivery remembers: those of the first round and of one that a person requested. */
const keptAttempts = 20;

export async function recordAttempt(
  tx: Tx,
  { tenantId, deliveryId, attempt, status }: DeliveryKey & { attempt: Attempt; status: string },
): Promise<void> {
  await tx.run(sql`
    update webhook_deliveries d
       set status = ${status},
           finished_at = case when ${status} = 'pending' then null else clock_timestamp() end,
           tries = d.tries + 1,
           attempt_count = d.attempt_count + 1,
           attempts = case when jsonb_array_length(d.attempts) >= ${keptAttempts} then d.attempts - 0
                           else d.attempts end || ${JSON.stringify(attempt)}::jsonb,
           last_attempt_at = ${attempt.at}::timestamptz,
           last_status_code = ${attempt.status_code}::integer,
           last_error = ${attempt.error}::text,
           last_duration_ms = ${attempt.duration_ms}::integer
     where d.tenant_id = ${tenantId}
       and d.delivery_id = ${deliveryId}`);
}

/** Gives a lane back, to be tried after that time, or removes it when it has nothing left to deliver. */
export async function releaseLane(
  tx: Tx,
  { tenantId, webhookId, lane, ...next }: Lease & { delayMs: number; notBeforeMs: number | null },
): Promise<void> {
  const kept = await tx.run(sql`
    update webhook_lanes w
       set token = null,
           due_at = clock_timestamp() + ${next.delayMs} * interval '1 millisecond',
           not_before = clock_timestamp() + ${next.notBeforeMs}::float8 * interval '1 millisecond'
     where w.tenant_id = ${tenantId}
       and w.webhook_id = ${webhookId}
       and w.lane = ${lane}
       and exists (
         select from webhook_deliveries d
          where d.tenant_id = ${tenantId}
            and d.webhook_id = ${webhookId}
            and d.lane = ${lane}
            and d.status = 'pending')`);
  if (kept === 1) return;
  await tx.run(sql`
    delete from webhook_lanes w
     where w.tenant_id = ${tenantId}
       and w.webhook_id = ${webhookId}
       and w.lane = ${lane}`);
}
