import type { Tx } from '../../lib/postgres/db.ts';
import { type Sql, sql, trustedSql } from '../../lib/postgres/sql.ts';
import type { ScrapeSource, SourceKey } from './types.ts';

/** A `ScrapeSource`, from `scrape_sources s`. */
const sourceColumns = trustedSql(`
  s.tenant_id as "tenantId", s.source, s.mode, s.kind, s.kb_id as "kbId", s.url, s.settings,
  s.every_hours as "everyHours", s.next_crawl_at as "nextCrawlAt", s.created_by as "createdBy",
  s.created_at as "createdAt", s.updated_at as "updatedAt"`);

export type NewSource = Omit<ScrapeSource, 'nextCrawlAt' | 'createdAt' | 'updatedAt'>;

/** Creates or replaces a source; `isNew` says which. */
export async function putSource(tx: Tx, source: NewSource): Promise<ScrapeSource & { isNew: boolean }> {
  const row = await tx.find<ScrapeSource & { isNew: boolean }>(sql`
    insert into scrape_sources as s (
      tenant_id, source, mode, kind, kb_id, url, settings, every_hours, next_crawl_at, created_by)
    values (${source.tenantId}, ${source.source}, ${source.mode}, ${source.kind}, ${source.kbId}, ${source.url},
            ${JSON.stringify(source.settings)}, ${source.everyHours},
            clock_timestamp() + ${source.everyHours}::float8 * interval '1 hour', ${source.createdBy})
    on conflict (tenant_id, source) do update
       set mode = excluded.mode,
           kind = excluded.kind,
           kb_id = excluded.kb_id,
           url = excluded.url,
           settings = excluded.settings,
           every_hours = excluded.every_hours,
           next_crawl_at = case
             when s.every_hours = excluded.every_hours then s.next_crawl_at
             else excluded.next_crawl_at end,
           updated_at = clock_timestamp()
    returning ${sourceColumns}, s.xmax = 0 as "isNew"`);
  if (!row) throw new Error(`The row of source ${source.source} was not returned by its own insert`);
  return row;
}

const one = ({ tenantId, source }: SourceKey) => sql`
    select ${sourceColumns}
      from scrape_sources s
     where s.tenant_id = ${tenantId}
       and s.source = ${source}`;

export function findSource(tx: Tx, key: SourceKey): Promise<ScrapeSource | null> {
  return tx.find<ScrapeSource>(one(key));
}

/** Prevents changes and deletion until the end of the transaction; several transactions may share the lock. */
export function shareSource(tx: Tx, key: SourceKey): Promise<ScrapeSource | null> {
  return tx.find<ScrapeSource>(shareStatement(key));
}

export function shareStatement(key: SourceKey): Sql {
  return sql`${one(key)} for share`;
}

export function lockSource(tx: Tx, key: SourceKey): Promise<ScrapeSource | null> {
  return tx.find<ScrapeSource>(sql`${one(key)} for update`);
}

/** By name. */
export function listSources(
  tx: Tx,
  { tenantId, after, limit }: { tenantId: string; after: string | null; limit: number },
): Promise<ScrapeSource[]> {
  return tx.rows<ScrapeSource>(sql`
    select ${sourceColumns}
      from scrape_sources s
     where s.tenant_id = ${tenantId}
       and (${after}::text is null or s.source > ${after})
     order by s.source
     limit ${limit}`);
}

/** Stops counting at the limit. */
export async function countSources(
  tx: Tx,
  { tenantId, limit }: { tenantId: string; limit: number },
): Promise<number> {
  const row = await tx.find<{ count: number }>(sql`
    select count(*) as count
      from (select from scrape_sources where tenant_id = ${tenantId} limit ${limit}) counted`);
  return row?.count ?? 0;
}

/** Its references must be deleted first; its runs are kept as history. */
export async function deleteSource(tx: Tx, { tenantId, source }: SourceKey): Promise<boolean> {
  const deleted = await tx.run(sql`
    delete from scrape_sources
     where tenant_id = ${tenantId}
       and source = ${source}`);
  return deleted === 1;
}

/** Sources whose crawl is due, over all tenants, the longest overdue first. */
export function listDueSources(tx: Tx, { limit }: { limit: number }): Promise<SourceKey[]> {
  return tx.rows<SourceKey>(sql`
    select s.tenant_id as "tenantId", s.source
      from scrape_sources s
     where s.next_crawl_at <= clock_timestamp()
     order by s.next_crawl_at
     limit ${limit}`);
}

/** Moves a due source to its next tick after now, however many it missed; false when another process was faster. */
export async function takeTick(tx: Tx, { tenantId, source }: SourceKey): Promise<boolean> {
  const taken = await tx.run(sql`
    update scrape_sources
       set next_crawl_at = next_crawl_at + every_hours * interval '1 hour'
             * (floor(extract(epoch from clock_timestamp() - next_crawl_at) / (every_hours * 3600)) + 1)
     where tenant_id = ${tenantId}
       and source = ${source}
       and mode = 'crawl'
       and next_crawl_at <= clock_timestamp()`);
  return taken === 1;
}
