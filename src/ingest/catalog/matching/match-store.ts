import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { Hit } from '../types.ts';

/** Products of one version, and how many of them a question gets at most. */
export interface LookupPlace {
  tenantId: string;
  versionId: number;
  most: number;
}

const keyColumns = { sku: sql`c.sku_key`, brand_title: sql`c.brand_title_key` };

/** One index lookup per key, whatever statistics the planner has; null keys find nothing. */
export function listByKey(
  tx: Tx,
  { tenantId, versionId, most }: LookupPlace,
  { strategy, keys }: { strategy: keyof typeof keyColumns; keys: readonly (string | null)[] },
): Promise<Hit[]> {
  return tx.rows<Hit>(sql`
    select q.n, p.row_no as "rowNo", 1::float8 as score, p.title_key as "titleKey", p.product::text as "productJson"
      from unnest(${keys}::text[]) with ordinality as q (key, n)
     cross join lateral (
       select c.row_no, c.title_key, c.product
         from catalog_products c
        where c.tenant_id = ${tenantId}
          and c.version_id = ${versionId}
          and ${keyColumns[strategy]} = q.key
        limit ${most}) p`);
}

export interface TitleQuestions {
  titles: readonly string[];
  /** Null: the row has no brand. */
  brands: readonly (string | null)[];
  threshold: number;
}

/** The most similar first, for each question. */
export function listByTitle(
  tx: Tx,
  { tenantId, versionId, most }: LookupPlace,
  { titles, brands, threshold }: TitleQuestions,
): Promise<Hit[]> {
  return tx.rows<Hit>(sql`
    select m.n, m.row_no as "rowNo", m.score::float8 as score, p.title_key as "titleKey",
           p.product::text as "productJson"
      from match_catalog_titles(${tenantId}, ${versionId}::bigint, ${threshold}::real, ${titles}::text[],
                                ${brands}::bigint[], ${most}::integer) m
     cross join lateral (
       select c.title_key, c.product
         from catalog_products c
        where c.tenant_id = ${tenantId}
          and c.version_id = ${versionId}
          and c.row_no = m.row_no
        limit 1) p
     order by m.n, m.score desc, m.row_no`);
}

/** Whether the database has what comparing similar titles needs. */
export async function canMatchTitles(tx: Tx): Promise<boolean> {
  const row = await tx.find<{ isReady: boolean }>(sql`
    select to_regprocedure('public.match_catalog_titles(text,bigint,real,text[],bigint[],integer)') is not null
           as "isReady"`);
  return row?.isReady ?? false;
}
