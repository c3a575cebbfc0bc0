import type { KnownPage } from '../../../kernel/crawl/types.ts';
import { isId } from '../../../lib/ids.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { type Sql, sql, trustedSql } from '../../../lib/postgres/sql.ts';
import { toSnakeCase } from '../../../lib/snake-case.ts';
import type { NewReference, ScrapeReference, SourceKey, SourcePage, TouchedReference } from '../types.ts';

/** A `ScrapeReference`, from `scrape_references r`. */
const referenceColumns = trustedSql(`
  r.tenant_id as "tenantId", r.reference_id as "referenceId", r.source, r.external_id as "externalId", r.url, r.title,
  r.media_type as "mediaType", r.metadata, r.payload_hash as "payloadHash",
  octet_length(r.content) as "contentBytes", r.scrape_run_id as "scrapeRunId", r.gone_at as "goneAt",
  r.created_at as "createdAt", r.updated_at as "updatedAt"`);

export type UpsertedReference = NewReference & { referenceId: string; payloadHash: string };

/**
 * Creates or changes references, and locks them until the end of the transaction. It locks in the order of external
 * ids, so that two syncs of the same references cannot deadlock. The text of an unchanged reference is not written
 * again.
 */
export function upsertReferences(
  tx: Tx,
  { tenantId, source, scrapeRunId }: SourceKey & { scrapeRunId: string },
  references: readonly UpsertedReference[],
): Promise<TouchedReference[]> {
  return tx.rows<TouchedReference>(sql`
    insert into scrape_references as r (
      tenant_id, reference_id, source, external_id, url, url_key, title, content, media_type, metadata, payload_hash,
      memo, scrape_run_id, changed_by)
    select ${tenantId}, i.reference_id, ${source}, i.external_id, i.url, sha256(convert_to(i.url, 'UTF8')), i.title,
           i.content, i.media_type, i.metadata, i.payload_hash, i.memo, ${scrapeRunId}, ${scrapeRunId}
      from jsonb_to_recordset(${JSON.stringify(references.map(toSnakeCase))}::jsonb) as i (
        reference_id uuid, external_id text, url text, title text, content text, media_type text, metadata jsonb,
        payload_hash text, memo text)
     order by i.external_id collate "C"
    on conflict (tenant_id, source, external_id) do update
       set url = excluded.url,
           url_key = excluded.url_key,
           title = excluded.title,
           content = case when r.payload_hash = excluded.payload_hash then r.content else excluded.content end,
           media_type = excluded.media_type,
           metadata = excluded.metadata,
           payload_hash = excluded.payload_hash,
           memo = excluded.memo,
           gone_at = null,
           scrape_run_id = excluded.scrape_run_id,
           changed_by = case
             when r.payload_hash = excluded.payload_hash and r.gone_at is null then r.changed_by
             else excluded.changed_by end,
           updated_at = clock_timestamp()
    returning r.reference_id as "referenceId", r.external_id as "externalId", r.payload_hash as "payloadHash",
              r.xmax = 0 as "isCreated", r.changed_by = ${scrapeRunId} and r.xmax <> 0 as "isChanged"`);
}

/** Updates references that a crawl found unchanged without reading them. */
export function touchReferences(
  tx: Tx,
  { tenantId, source, scrapeRunId }: SourceKey & { scrapeRunId: string },
  pages: readonly { externalId: string; memo: string | null }[],
): Promise<TouchedReference[]> {
  return tx.rows<TouchedReference>(sql`
    with locked as (
      select r.reference_id, p.memo
        from unnest(${pages.map(({ externalId }) => externalId)}::text[], ${pages.map(({ memo }) => memo)}::text[])
               as p (external_id, memo)
        join scrape_references r
          on r.tenant_id = ${tenantId} and r.source = ${source} and r.external_id = p.external_id collate "C"
       order by r.external_id
         for update of r
    )
    update scrape_references r
       set scrape_run_id = ${scrapeRunId},
           memo = coalesce(l.memo, r.memo),
           gone_at = null,
           updated_at = clock_timestamp()
      from locked l
     where r.tenant_id = ${tenantId}
       and r.reference_id = l.reference_id
    returning r.reference_id as "referenceId", r.external_id as "externalId", r.payload_hash as "payloadHash",
              false as "isCreated", false as "isChanged"`);
}

/** The references are kept, but no longer handed to knowledge bases. */
export async function markGone(
  tx: Tx,
  { tenantId, source }: SourceKey,
  externalIds: readonly string[],
): Promise<number> {
  return tx.run(sql`
    update scrape_references r
       set gone_at = clock_timestamp(),
           updated_at = clock_timestamp()
     where r.tenant_id = ${tenantId}
       and r.source = ${source}
       and r.gone_at is null
       and r.reference_id in (
         select l.reference_id
           from scrape_references l
          where l.tenant_id = ${tenantId}
            and l.source = ${source}
            and l.external_id = any(${externalIds}::text[])
          order by l.external_id
            for update)`);
}

/** What a crawl needs to know about these pages; pages that are gone are left out. */
export function listKnownOf(
  tx: Tx,
  { tenantId, source }: SourceKey,
  externalIds: readonly string[],
): Promise<(KnownPage & { url: string })[]> {
  return tx.rows(sql`
    select r.external_id as url, r.payload_hash as "contentHash", r.memo
      from unnest(${externalIds}::text[]) as p (external_id)
      join scrape_references r
        on r.tenant_id = ${tenantId} and r.source = ${source} and r.external_id = p.external_id collate "C"
     where r.gone_at is null`);
}

/** All pages that earlier crawls have read, by external id. */
export function listKnown(
  tx: Tx,
  { tenantId, source, after, limit }: SourcePage,
): Promise<(KnownPage & { url: string })[]> {
  return tx.rows(sql`
    select r.external_id as url, r.payload_hash as "contentHash", r.memo
      from scrape_references r
     where r.tenant_id = ${tenantId}
       and r.source = ${source}
       and (${after}::text is null or r.external_id > ${after} collate "C")
       and r.gone_at is null
     order by r.external_id
     limit ${limit}`);
}

/** Newest first. */
export function listReferences(
  tx: Tx,
  { tenantId, source, after, limit }: SourcePage,
): Promise<ScrapeReference[]> {
  return tx.rows<ScrapeReference>(sql`
    select ${referenceColumns}
      from scrape_references r
     where r.tenant_id = ${tenantId}
       and r.source = ${source}
       and (${after}::uuid is null or r.reference_id < ${after}::uuid)
     order by r.reference_id desc
     limit ${limit}`);
}

/** What people call references: their titles. Jobs of a knowledge base are about bases, too. */
export async function listReferenceTitles(
  tx: Tx,
  { tenantId, subjectIds }: { tenantId: string; subjectIds: readonly string[] },
): Promise<{ subjectId: string; name: string }[]> {
  const ids = subjectIds.filter(isId);
  if (ids.length === 0) return [];
  return tx.rows(sql`
    select r.reference_id::text as "subjectId", coalesce(nullif(r.title, ''), r.url) as name
      from scrape_references r
     where r.tenant_id = ${tenantId}
       and r.reference_id = any(${ids}::uuid[])`);
}

export interface HandedReference extends Omit<NewReference, 'metadata' | 'memo'> {
  referenceId: string;
  /** Whether an older reference of the same knowledge base has the same address. */
  isSameUrl: boolean;
}

/**
 * References of all sources of a knowledge base, by id. Each source contributes its first ones through its own index
 * scan.
 */
export function listHandedReferences(
  tx: Tx,
  { tenantId, kbId, after, limit }: { tenantId: string; kbId: string; after: string | null; limit: number },
): Promise<HandedReference[]> {
  return tx.rows<HandedReference>(sql`
    select ${handedColumns(kbId)}
      from scrape_sources s,
           lateral (
             select *
               from scrape_references f
              where f.tenant_id = s.tenant_id
                and f.source = s.source
                and f.gone_at is null
                and (${after}::uuid is null or f.reference_id > ${after}::uuid)
              order by f.reference_id
              limit ${limit}) r
     where s.tenant_id = ${tenantId}
       and s.kb_id = ${kbId}
     order by r.reference_id
     limit ${limit}`);
}

/** At most one row: a `HandedReference`. */
export function handedStatement({
  tenantId,
  kbId,
  referenceId,
}: {
  tenantId: string;
  kbId: string;
  referenceId: string;
}): Sql {
  return sql`
    select ${referenceId} as "referenceId", r.external_id as "externalId", r.url, r.title, r.content,
           r.media_type as "mediaType", r.has_same_url as "isSameUrl"
      from find_handed_reference(${tenantId}, ${kbId}, ${referenceId}) r`;
}

/** A `HandedReference`, from `scrape_references r`. */
function handedColumns(kbId: string) {
  return sql`r.reference_id as "referenceId", r.external_id as "externalId", r.url, r.title, r.content,
           r.media_type as "mediaType", exists (
             select
               from scrape_references o
               join scrape_sources os on os.tenant_id = o.tenant_id and os.source = o.source
              where o.tenant_id = r.tenant_id
                and o.url_key = r.url_key
                and o.reference_id < r.reference_id
                and o.gone_at is null
                and os.kb_id = ${kbId}) as "isSameUrl"`;
}

export async function deleteReferences(
  tx: Tx,
  { tenantId, source, limit }: SourceKey & { limit: number },
): Promise<number> {
  return tx.run(sql`
    delete from scrape_references
     where tenant_id = ${tenantId}
       and reference_id in (
         select reference_id
           from scrape_references
          where tenant_id = ${tenantId}
            and source = ${source}
          order by external_id
          limit ${limit}
            for update)`);
}
