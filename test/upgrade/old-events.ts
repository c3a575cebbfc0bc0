import { newId } from '../../src/lib/ids.ts';
import type { Database, Tx } from '../../src/lib/postgres/db.ts';
import { sql } from '../../src/lib/postgres/sql.ts';

// Events and webhooks in the version before; see old-jobs.ts.

export interface OldPosition {
  xid: string;
  eventId: number;
}

interface Cursor extends OldPosition {
  tenantId: string;
  webhookId: string;
}

export interface OldEvent extends OldPosition {
  type: string;
  subject: string;
  isOlder?: boolean;
}

/** In the order of transactions, up to the oldest one that is open. */
export function readEvents(
  tx: Tx,
  { tenantId, after, limit }: { tenantId: string; after: OldPosition | null; limit: number },
): Promise<OldEvent[]> {
  return tx.rows<OldEvent>(sql`
    select e.xid::text as "xid", e.event_id as "eventId", e.type, e.subject
      from events e
     where e.tenant_id = ${tenantId}
       and (e.xid, e.event_id) > (${after?.xid ?? '0'}::xid8, ${after?.eventId ?? 0}::bigint)
       and e.xid < pg_snapshot_xmin(pg_current_snapshot())
     order by e.xid, e.event_id
     limit ${limit}`);
}

/** Writes the next deliveries of an endpoint that is behind, and moves its cursor. */
export function fanOutOnce(db: Database, limit = 200): Promise<boolean> {
  return db.kernel(async (tx) => {
    const cursor = await lockCursorBehind(tx);
    if (!cursor) return false;
    const events = await listEventsBehind(tx, { cursor, limit });
    const last = events.at(-1);
    if (!last) return false;
    const wanted = events.filter(({ isOlder, type }) => !isOlder && !type.startsWith('webhook.'));
    if (wanted.length > 0) {
      await insertLanes(tx, { ...cursor, lanes: [...new Set(wanted.map(({ subject }) => subject))] });
      await insertDeliveries(tx, cursor, wanted);
    }
    await moveCursor(tx, { ...cursor, xid: last.xid, eventId: last.eventId });
    return true;
  });
}

function lockCursorBehind(tx: Tx): Promise<Cursor | null> {
  return tx.find<Cursor>(sql`
    select c.tenant_id as "tenantId",
           c.webhook_id as "webhookId",
           c.xid::text as "xid",
           c.event_id as "eventId"
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

function listEventsBehind(tx: Tx, { cursor, limit }: { cursor: Cursor; limit: number }): Promise<OldEvent[]> {
  return tx.rows<OldEvent>(sql`
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

async function insertLanes(
  tx: Tx,
  { tenantId, webhookId, lanes }: Cursor & { lanes: string[] },
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

function insertDeliveries(tx: Tx, { tenantId, webhookId }: Cursor, deliveries: OldEvent[]): Promise<number> {
  return tx.run(sql`
    insert into webhook_deliveries (
      tenant_id, webhook_id, delivery_id, event_xid, event_id, event_type, lane, max_tries)
    select ${tenantId}, ${webhookId}::uuid, n.delivery_id, n.xid::xid8, n.event_id, n.type, n.lane, 10
      from unnest(
        ${deliveries.map(() => newId())}::uuid[],
        ${deliveries.map(({ xid }) => xid)}::text[],
        ${deliveries.map(({ eventId }) => eventId)}::bigint[],
        ${deliveries.map(({ type }) => type)}::text[],
        ${deliveries.map(({ subject }) => subject)}::text[]) as n (delivery_id, xid, event_id, type, lane)
    on conflict (tenant_id, webhook_id, event_id) do nothing`);
}

async function moveCursor(tx: Tx, { tenantId, webhookId, xid, eventId }: Cursor): Promise<void> {
  await tx.run(sql`
    update webhook_cursors
       set xid = ${xid}::xid8,
           event_id = ${eventId},
           moved_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and webhook_id = ${webhookId}`);
}

export function purgeEvents(tx: Tx, { days, limit }: { days: number; limit: number }): Promise<number> {
  return tx.run(sql`
    delete from events
     where ctid = any(array(
       select e.ctid
         from events e
        where e.occurred_at < clock_timestamp() - ${days} * interval '1 day'
          and not exists (
            select from webhook_cursors c
              join webhook_endpoints w on w.tenant_id = c.tenant_id and w.webhook_id = c.webhook_id
             where c.tenant_id = e.tenant_id
               and w.is_enabled
               and (c.xid, c.event_id) < (e.xid, e.event_id))
          and not exists (
            select from webhook_deliveries d
             where d.tenant_id = e.tenant_id
               and d.event_id = e.event_id
               and d.status = 'pending')
        limit ${limit}))`);
}

export function purgeJobs(tx: Tx, { days, limit }: { days: number; limit: number }): Promise<number> {
  return tx.run(sql`
    delete from ingestion_jobs d
     using (
       select j.tenant_id, j.job_id
         from ingestion_jobs j
         join tenants t on t.tenant_id = j.tenant_id
        where j.finished_at < clock_timestamp() - interval '1 day'
          and j.finished_at < clock_timestamp()
              - coalesce((t.limits ->> 'job_retention_days')::integer, ${days}) * interval '1 day'
          and not j.cleanup_open
        limit ${limit}
          for update of j skip locked) old
     where d.tenant_id = old.tenant_id
       and d.job_id = old.job_id`);
}
