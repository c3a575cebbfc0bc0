import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { ProductRow } from '../types.ts';

/** The rows are one message: a process that stops cannot leave the statement half sent, and hold its locks. */
export async function insertProducts(
  tx: Tx,
  { tenantId, versionId, rows }: { tenantId: string; versionId: number; rows: readonly ProductRow[] },
): Promise<void> {
  const column = <Value>(of: (row: ProductRow) => Value): Value[] => rows.map(of);
  await tx.run(sql`
    insert into catalog_products (tenant_id, version_id, row_no, sku_key, brand_title_key, title_key, scope, product)
    select ${tenantId}, ${versionId}::bigint, p.row_no, p.sku_key, p.brand_title_key, p.title_key,
           p.scope::bigint[], p.product
      from unnest(
        ${column(({ rowNo }) => rowNo)}::integer[], ${column(({ skuKey }) => skuKey)}::text[],
        ${column(({ brandTitleKey }) => brandTitleKey)}::text[], ${column(({ titleKey }) => titleKey)}::text[],
        ${column(({ scope }) => `{${scope.join(',')}}`)}::text[],
        ${column(({ productJson }) => productJson)}::json[])
        as p (row_no, sku_key, brand_title_key, title_key, scope, product)`);
}

export async function settleProducts(tx: Tx): Promise<void> {
  await tx.run(sql`select settle_catalog_products()`);
}
