import type { Tx } from '../../lib/postgres/db.ts';
import { type Sql, sql } from '../../lib/postgres/sql.ts';
import { type EventFilter, type EventPosition, type EventRow, type NewEvent, typePrefix } from './types.ts';

const eventColumns = sql`
  e.tenant_id as "tenantId", e.xid::text as "xid", e.event_id as "eventId", e.type as "type", e.subject as "subject",
  e.user_id as "userId", e.correlation_id as "correlationId", e.data as "data", e.occurred_at as "occurredAt"`;

export interface EventQuery extends EventFilter {
  tenantId: string;
  /** Null: from the beginning. */
  after?: EventPosition | null | undefined;
  limit: number;
}

/**
 * Ids are drawn in another order than transactions commit. So readers order by transaction first and stop at the
 * oldest one that is still open: its events will come after everything that was read, never before.
 */
export function readEvents(tx: Tx, query: EventQuery): Promise<EventRow[]> {
  return tx.rows<EventRow>(eventsStatement(query));
}

export function eventsStatement({ tenantId, after, types, subject, ownerId, limit }: EventQuery): Sql {
  const prefixes = types?.flatMap((pattern) => typePrefix(pattern) ?? []);
  const wholeTypes = types?.filter((pattern) => typePrefix(pattern) === null);
  return sql`
    select ${eventColumns}
      from events e
     where e.tenant_id = ${tenantId}
       and (e.xid, e.event_id) > (${after?.xid ?? '0'}::xid8, ${after?.eventId ?? 0}::bigint)
       and e.xid < pg_snapshot_xmin(pg_current_snapshot())
       and (${subject ?? null}::text is null or e.subject = ${subject ?? null})
       and (${ownerId ?? null}::text is null or e.user_id = ${ownerId ?? null})
       and (${types === undefined}::boolean
            or e.type = any(${wholeTypes ?? []}::text[])
            or e.type ^@ any(${prefixes ?? []}::text[]))
     order by e.xid, e.event_id
     limit ${limit}`;
}

export function findEvent(
  tx: Tx,
  { tenantId, xid, eventId }: EventPosition & { tenantId: string },
): Promise<EventRow | null> {
  return tx.find<EventRow>(sql`
    select ${eventColumns}
      from events e
     where e.tenant_id = ${tenantId}
       and e.xid = ${xid}::xid8
       and e.event_id = ${eventId}`);
}

/** Every event that is readable now lies before this position, and every later one after it. */
export function headStatement(): Sql {
  return sql`
    select pg_snapshot_xmin(pg_current_snapshot())::text as "xid",
           0 as "eventId"`;
}

export async function appendEvent(tx: Tx, event: NewEvent): Promise<EventPosition> {
  const made = await tx.find<EventPosition>(sql`
    insert into events (tenant_id, type, subject, user_id, correlation_id, data)
    values (
      ${event.tenantId}, ${event.type}, ${event.subject}, ${event.userId ?? null}, ${event.correlationId ?? null},
      ${JSON.stringify(event.data)})
    returning xid::text as "xid", event_id as "eventId"`);
  if (!made) throw new Error(`The event ${event.type} of ${event.subject} was not written`);
  return made;
}

/**
 * Age of the oldest committed event that readers may not see yet; null when there is none. One index lookup per tenant,
 * and none at all when no transaction is open.
 */
export function findHeldBack(tx: Tx): Promise<{ ageSeconds: number | null } | null> {
  return tx.find<{ ageSeconds: number | null }>(sql`
    select extract(epoch from clock_timestamp() - min(held.occurred_at))::float8 as "ageSeconds"
      from tenants t
     cross join lateral (
       select e.occurred_at
         from events e
        where e.tenant_id = t.tenant_id
          and e.xid >= pg_snapshot_xmin(pg_current_snapshot())
        order by e.xid, e.event_id
        limit 1) held
     where pg_snapshot_xmin(pg_current_snapshot()) <> pg_snapshot_xmax(pg_current_snapshot())`);
}
