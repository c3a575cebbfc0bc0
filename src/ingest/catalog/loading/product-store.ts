import { copyFrom, copyText } from '../../../lib/postgres/copy.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { ProductRow } from '../types.ts';

/**
 * COPY is refused on tables with row-level security. It goes through a temporary table, which costs no write-ahead log,
 * and the policy checks every row that is inserted from there.
 */
export async function copyProducts(
  tx: Tx,
  { tenantId, versionId, rows }: { tenantId: string; versionId: number; rows: readonly ProductRow[] },
): Promise<void> {
  await tx.run(sql`
    create temporary table incoming_products (
      row_no integer, sku_key text, brand_title_key text, title_key text, scope bigint[], product json
    ) on commit drop`);
  await copyFrom(tx.client, 'copy pg_temp.incoming_products from stdin', [
    Buffer.from(rows.map(lineOf).join('')),
  ]);
  await tx.run(sql`
    insert into catalog_products (tenant_id, version_id, row_no, sku_key, brand_title_key, title_key, scope, product)
    select ${tenantId}, ${versionId}::bigint, row_no, sku_key, brand_title_key, title_key, scope, product
      from pg_temp.incoming_products`);
}

export async function settleProducts(tx: Tx): Promise<void> {
  await tx.run(sql`select settle_catalog_products()`);
}

function lineOf(row: ProductRow): string {
  const cells = [row.skuKey, row.brandTitleKey, row.titleKey, `{${row.scope.join(',')}}`, row.productJson];
  return `${row.rowNo}\t${cells.map(copyText).join('\t')}\n`;
}
