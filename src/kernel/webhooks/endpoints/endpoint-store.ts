import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import { type LogPosition, openTransactions } from '../../events/types.ts';
import type { Endpoint, EndpointChange, EndpointKey } from '../types.ts';

const endpointColumns = sql`
  e.tenant_id as "tenantId", e.webhook_id as "webhookId", e.url, e.event_types as "eventTypes", e.description,
  e.is_enabled as "isEnabled", e.disabled_reason as "disabledReason", e.disabled_at as "disabledAt",
  case when e.old_secret_until > clock_timestamp() then e.old_secret_until end as "oldSecretUntil",
  e.failures_in_row as "failuresInRow", e.failing_since as "failingSince", e.last_success_at as "lastSuccessAt",
  e.created_by as "createdBy", e.created_at as "createdAt", e.updated_at as "updatedAt"`;

export interface NewEndpoint
  extends Pick<Endpoint, keyof EndpointKey | 'url' | 'eventTypes' | 'description' | 'createdBy'> {
  /** Encrypted. */
  secret: string;
}

/**
 * Waits for others that create an endpoint of this tenant, so that the limit is exact. Keys of advisory locks are
 * shared by the whole database: the prefix keeps them apart.
 */
export async function countEndpointsForInsert(tx: Tx, tenantId: string): Promise<number> {
  await tx.run(sql`
    select pg_advisory_xact_lock(hashtextextended('webhook_endpoints/' || ${tenantId}::text, 0))`);
  const row = await tx.find<{ count: number }>(sql`
    select count(*) as count
      from webhook_endpoints
     where tenant_id = ${tenantId}`);
  return row?.count ?? 0;
}

export async function insertEndpoint(tx: Tx, endpoint: NewEndpoint): Promise<Endpoint> {
  const { tenantId, webhookId } = endpoint;
  const made = await tx.find<Endpoint>(sql`
    insert into webhook_endpoints as e (tenant_id, webhook_id, url, event_types, description, secret, created_by)
    values (
      ${tenantId}, ${webhookId}, ${endpoint.url}, ${endpoint.eventTypes}, ${endpoint.description},
      ${endpoint.secret}, ${endpoint.createdBy})
    returning ${endpointColumns}`);
  if (!made) throw new Error(`The endpoint ${webhookId} was not written`);
  return made;
}

/** The endpoint gets what comes after the position. */
export async function insertCursor(
  tx: Tx,
  { tenantId, webhookId }: EndpointKey,
  position: LogPosition,
): Promise<void> {
  const { era, seen } = position;
  await tx.run(sql`
    insert into webhook_cursors (tenant_id, webhook_id, era, position, high, low, open, xid, since)
    values (
      ${tenantId}, ${webhookId}, ${era}, ${JSON.stringify(position)}::jsonb, ${seen.high}, ${seen.low},
      ${openTransactions(seen)}::text[]::xid8[], pg_snapshot_xmin(${seen.snapshot}::pg_snapshot),
      '1:1:')`);
}

export function findEndpoint(tx: Tx, { tenantId, webhookId }: EndpointKey): Promise<Endpoint | null> {
  return tx.find<Endpoint>(sql`
    select ${endpointColumns}
      from webhook_endpoints e
     where e.tenant_id = ${tenantId}
       and e.webhook_id = ${webhookId}`);
}

/** Like `findEndpoint`, but the endpoint cannot be deleted before this transaction ends. */
export function holdEndpoint(tx: Tx, { tenantId, webhookId }: EndpointKey): Promise<Endpoint | null> {
  return tx.find<Endpoint>(sql`
    select ${endpointColumns}
      from webhook_endpoints e
     where e.tenant_id = ${tenantId}
       and e.webhook_id = ${webhookId}
       for key share`);
}

export function listEndpoints(
  tx: Tx,
  { tenantId, limit, after }: { tenantId: string; limit: number; after: string | null },
): Promise<Endpoint[]> {
  return tx.rows<Endpoint>(sql`
    select ${endpointColumns}
      from webhook_endpoints e
     where e.tenant_id = ${tenantId}
       and (${after}::uuid is null or e.webhook_id > ${after}::uuid)
     order by e.webhook_id
     limit ${limit}`);
}

export function updateEndpoint(
  tx: Tx,
  { tenantId, webhookId, ...change }: EndpointKey & EndpointChange,
): Promise<Endpoint | null> {
  const { url, eventTypes, description, isEnabled } = change;
  return tx.find<Endpoint>(sql`
    update webhook_endpoints e
       set url = coalesce(${url ?? null}::text, e.url),
           event_types = case when ${eventTypes === undefined}::boolean then e.event_types
                              else ${eventTypes ?? null}::text[] end,
           description = case when ${description === undefined}::boolean then e.description
                              else ${description ?? null}::text end,
           is_enabled = coalesce(${isEnabled ?? null}::boolean, e.is_enabled),
           disabled_at = case when coalesce(${isEnabled ?? null}::boolean, e.is_enabled) then null
                              else coalesce(e.disabled_at, clock_timestamp()) end,
           disabled_reason = case when coalesce(${isEnabled ?? null}::boolean, e.is_enabled) then null
                                  else coalesce(e.disabled_reason, 'Disabled by a person') end,
           failures_in_row = case when ${isEnabled ?? false}::boolean then 0 else e.failures_in_row end,
           updated_at = clock_timestamp()
     where e.tenant_id = ${tenantId}
       and e.webhook_id = ${webhookId}
    returning ${endpointColumns}`);
}

/** Both secrets are encrypted already: the old one as it stands in the row. */
export function rotateSecret(
  tx: Tx,
  { tenantId, webhookId, secret, overlapMs }: EndpointKey & { secret: string; overlapMs: number },
): Promise<Endpoint | null> {
  return tx.find<Endpoint>(sql`
    update webhook_endpoints e
       set old_secret = e.secret,
           old_secret_until = clock_timestamp() + ${overlapMs} * interval '1 millisecond',
           secret = ${secret},
           updated_at = clock_timestamp()
     where e.tenant_id = ${tenantId}
       and e.webhook_id = ${webhookId}
    returning ${endpointColumns}`);
}

/** Deletes the cursor too, and so waits for a fan-out in progress, whose deliveries can then be deleted. */
export async function deleteEndpoint(tx: Tx, { tenantId, webhookId }: EndpointKey): Promise<boolean> {
  const deleted = await tx.run(sql`
    delete from webhook_endpoints
     where tenant_id = ${tenantId}
       and webhook_id = ${webhookId}`);
  return deleted === 1;
}

export async function deleteLanes(tx: Tx, { tenantId, webhookId }: EndpointKey): Promise<void> {
  await tx.run(sql`
    delete from webhook_lanes
     where tenant_id = ${tenantId}
       and webhook_id = ${webhookId}`);
}

/** Waiting lanes are tried now, unless the receiver has asked for more time or they are being tried. */
export async function bringLanesForward(tx: Tx, { tenantId, webhookId }: EndpointKey): Promise<void> {
  await tx.run(sql`
    update webhook_lanes w
       set due_at = greatest(clock_timestamp(), w.not_before)
      from (
        select l.lane
          from webhook_lanes l
         where l.tenant_id = ${tenantId}
           and l.webhook_id = ${webhookId}
           and l.token is null
           and l.due_at > clock_timestamp()
           for update skip locked) waiting
     where w.tenant_id = ${tenantId}
       and w.webhook_id = ${webhookId}
       and w.lane = waiting.lane`);
}

export async function noteSuccess(tx: Tx, { tenantId, webhookId }: EndpointKey): Promise<void> {
  // Rarely writes: only when the row changes in a way that matters.
  await tx.run(sql`
    update webhook_endpoints
       set failures_in_row = 0,
           failing_since = null,
           last_success_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and webhook_id = ${webhookId}
       and (failures_in_row > 0
            or failing_since is not null
            or last_success_at is null
            or last_success_at < clock_timestamp() - interval '10 seconds')`);
}

export async function noteFailure(
  tx: Tx,
  { tenantId, webhookId, isGivenUp }: EndpointKey & { isGivenUp: boolean },
): Promise<void> {
  await tx.run(sql`
    update webhook_endpoints
       set failures_in_row = failures_in_row + 1,
           failing_since = case when ${isGivenUp}::boolean then coalesce(failing_since, clock_timestamp())
                                else failing_since end
     where tenant_id = ${tenantId}
       and webhook_id = ${webhookId}`);
}

/** False when it was disabled already. */
export async function disableEndpoint(
  tx: Tx,
  { tenantId, webhookId, reason }: EndpointKey & { reason: string },
): Promise<boolean> {
  const disabled = await tx.run(sql`
    update webhook_endpoints
       set is_enabled = false,
           disabled_at = clock_timestamp(),
           disabled_reason = ${reason},
           failures_in_row = failures_in_row + 1,
           updated_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and webhook_id = ${webhookId}
       and is_enabled`);
  return disabled === 1;
}
