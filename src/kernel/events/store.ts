import type { Tx } from '../../lib/postgres/db.ts';
import { type Sql, sql } from '../../lib/postgres/sql.ts';
import {
  type EventFilter,
  type EventKey,
  type EventRow,
  type LogPosition,
  type Mark,
  type NewEvent,
  openTransactions,
  typePrefix,
} from './types.ts';

const eventColumns = sql`
  e.tenant_id as "tenantId", e.xid::text as "xid", e.event_id as "eventId", e.type as "type", e.subject as "subject",
  e.user_id as "userId", e.correlation_id as "correlationId", e.data as "data", e.occurred_at as "occurredAt"`;

export interface PageQuery extends EventFilter {
  tenantId: string;
  limit: number;
}

export interface Era {
  era: number;
  firstId: number;
}

/** The newest era, and what a reader knows after it has read everything that is visible now. */
export interface LogHead extends Era {
  /** False: the cluster, its timeline or the table has changed, and a new era has to begin. */
  isCurrent: boolean;
  snapshot: string;
  next: string;
  low: number;
  /** The newest event of the tenant above `low` or above the reader's own bound; null: there is none. */
  top: number | null;
  witness: number | null;
}

export type HeadRow = LogHead & Partial<EventRow>;

function matches({ types, subject, ownerId }: EventFilter): Sql {
  const prefixes = types?.flatMap((pattern) => typePrefix(pattern) ?? []);
  const wholeTypes = types?.filter((pattern) => typePrefix(pattern) === null);
  return sql`
           (${subject ?? null}::text is null or e.subject = ${subject ?? null})
       and (${ownerId ?? null}::text is null or e.user_id = ${ownerId ?? null})
       and (${types === undefined}::boolean
            or e.type = any(${wholeTypes ?? []}::text[])
            or e.type ^@ any(${prefixes ?? []}::text[]))`;
}

/** What a snapshot knows of all tenants. */
const head = sql`
  select h.era as "era",
         h.first_id as "firstId",
         h.is_current as "isCurrent",
         h.low as "low",
         pg_current_snapshot()::text as "snapshot",
         next_transaction(pg_current_snapshot())::text as "next"
    from event_log_head(pg_current_snapshot()) h`;

export function headStatement(): Sql {
  return head;
}

/** Transactions that were open in the reader's snapshot, and those that it cannot know of. */
function stragglers({ lastOnly, ...mark }: Mark): Sql {
  if (lastOnly) return sql`(e.xid >= ${lastOnly.horizon}::xid8 and e.xid <> ${lastOnly.xid}::xid8)`;
  return sql`e.xid = any(${openTransactions(mark)}::text[]::xid8[])`;
}

/**
 * The next page in the newest era: what was not visible in `seen` and is visible in `until`, or now. Two parts that
 * cannot overlap: ids up to `high` of transactions that were open then, and all higher ids. Every bound is a value, so
 * that the plan has only the partitions that matter. One row without an event when there is none.
 */
export function pageStatement(
  { tenantId, limit, ...filter }: PageQuery,
  { at, seen, until }: LogPosition,
): Sql {
  const { high, low } = seen;
  const isVisible = sql`
    pg_visible_in_snapshot(e.xid, coalesce(${until?.snapshot ?? null}::pg_snapshot, pg_current_snapshot()))`;
  return sql`
    with head as materialized (${head})
    select head.*,
           top.event_id as "top",
           (extract(epoch from top.occurred_at) * 1000000)::bigint as "witness",
           page.*
      from head
      left join lateral (
        select e.event_id, e.occurred_at
          from events e
         where e.tenant_id = ${tenantId}
           and e.event_id > ${high}
           and pg_visible_in_snapshot(e.xid, pg_current_snapshot())
         order by e.event_id desc
         limit ${until === null ? 1 : 0}) top on true
      left join lateral (
        (select ${eventColumns}
           from events e
          where e.tenant_id = ${tenantId}
            and e.event_id > ${Math.max(low, at)}
            and e.event_id <= ${high}
            and ${stragglers(seen)}
            and ${isVisible}
            and ${matches(filter)}
          order by e.event_id
          limit ${limit})
        union all
        (select ${eventColumns}
           from events e
          where e.tenant_id = ${tenantId}
            and e.event_id > ${Math.max(high, at)}
            and ${isVisible}
            and ${matches(filter)}
          order by e.event_id
          limit ${limit})) page on true
     order by page."eventId"
     limit ${Math.max(limit, 1)}`;
}

/** The next page in an era that has ended: all its events are committed, and no snapshot of today applies to them. */
export function endedEraStatement(
  { tenantId, limit, ...filter }: PageQuery,
  { at, seen, until, endId }: LogPosition & { endId: number },
): Sql {
  const { high, low } = seen;
  const { snapshot = null } = until ?? {};
  const isVisible = sql`
    (${snapshot}::pg_snapshot is null or pg_visible_in_snapshot(e.xid, ${snapshot}::pg_snapshot))`;
  return sql`
    select page.*
      from (
        (select ${eventColumns}
           from events e
          where e.tenant_id = ${tenantId}
            and e.event_id > ${Math.max(low, at)}
            and e.event_id <= ${high}
            and e.event_id < ${endId}
            and ${stragglers(seen)}
            and ${isVisible}
            and ${matches(filter)}
          order by e.event_id
          limit ${limit})
        union all
        (select ${eventColumns}
           from events e
          where e.tenant_id = ${tenantId}
            and e.event_id > ${Math.max(high, at)}
            and e.event_id < ${endId}
            and ${isVisible}
            and ${matches(filter)}
          order by e.event_id
          limit ${limit})) page
     order by page."eventId"
     limit ${limit}`;
}

/** The next page of what older versions wrote, in their order. */
export function oldestEraStatement(
  { tenantId, limit, ...filter }: PageQuery,
  { xid, at, endId }: { xid: string; at: number; endId: number },
): Sql {
  return sql`
    select ${eventColumns}
      from events e
     where e.tenant_id = ${tenantId}
       and e.event_id < ${endId}
       and (e.xid, e.event_id) > (${xid}::xid8, ${at}::bigint)
       and ${matches(filter)}
     order by e.xid, e.event_id
     limit ${limit}`;
}

/** The newest events that are visible now, before this id: for people who look, not for readers who must miss none. */
export function newestStatement({ tenantId, limit, ...filter }: PageQuery, beforeId: number | null): Sql {
  return sql`
    select event_era(e.event_id) as "era", ${eventColumns}
      from events e
     where e.tenant_id = ${tenantId}
       and (${beforeId}::bigint is null or e.event_id < ${beforeId}::bigint)
       and ${matches(filter)}
     order by e.event_id desc
     limit ${limit}`;
}

/** All eras, oldest first, and the first id that is still there. */
export function erasStatement(): Sql {
  return sql`
    select r.era as "era", r.first_id as "firstId", r.oldest_id as "oldestId"
      from event_log_eras() r`;
}

export interface FoundEvent extends EventKey {
  horizon: string | null;
  low: number;
  witness: number;
}

/** What a reader can know who has only the id of its last event. */
export function eventStatement({ tenantId, eventId }: { tenantId: string; eventId: number }): Sql {
  return sql`
    select e.xid::text as "xid", e.event_id as "eventId", e.horizon::text as "horizon",
           event_era(e.event_id) as "era",
           event_low(event_era(e.event_id), coalesce(e.horizon, '0'::xid8)) as "low",
           (extract(epoch from e.occurred_at) * 1000000)::bigint as "witness"
      from events e
     where e.tenant_id = ${tenantId}
       and e.event_id = ${eventId}`;
}

export function findEvent(
  tx: Tx,
  { tenantId, eventId }: { tenantId: string; eventId: number },
): Promise<EventRow | null> {
  return tx.find<EventRow>(sql`
    select event_era(e.event_id) as "era", ${eventColumns}
      from events e
     where e.tenant_id = ${tenantId}
       and e.event_id = ${eventId}`);
}

/** A statement of its own: with the ids as values the plan has only the partitions that they are in. */
export async function listEventsByKey(
  tx: Tx,
  keys: readonly { tenantId: string; eventId: number }[],
): Promise<EventRow[]> {
  if (keys.length === 0) return [];
  return tx.rows<EventRow>(sql`
    select event_era(e.event_id) as "era", ${eventColumns}
      from events e
     where e.tenant_id = any(${keys.map(({ tenantId }) => tenantId)}::text[])
       and e.event_id = any(${keys.map(({ eventId }) => eventId)}::bigint[])`);
}

/** Where the log ends, and the era in which programs of the version before ended. */
export async function findLogHead(tx: Tx): Promise<(LogHead & { firstEra: number }) | null> {
  const first = await tx.find<{ firstEra: number }>(sql`
    select min(r.era) as "firstEra"
      from event_eras r
     where r.era > 0`);
  const head = await tx.find<LogHead>(headStatement());
  return first && head && { ...head, ...first };
}

export async function appendEvent(tx: Tx, event: NewEvent): Promise<EventKey> {
  const made = await tx.find<EventKey>(sql`
    insert into events (tenant_id, type, subject, user_id, correlation_id, data)
    values (
      ${event.tenantId}, ${event.type}, ${event.subject}, ${event.userId ?? null}, ${event.correlationId ?? null},
      ${JSON.stringify(event.data)})
    returning xid::text as "xid", event_id as "eventId", event_era(event_id) as "era"`);
  if (!made) throw new Error(`The event ${event.type} of ${event.subject} was not written`);
  return made;
}

/** Begins a new era where the transaction ids are others than before; see README.md. */
export async function ensureEra(tx: Tx): Promise<void> {
  await tx.run(sql`select ensure_event_era()`);
}
