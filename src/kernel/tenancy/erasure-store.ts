import type { Tx } from '../../lib/postgres/db.ts';
import { quoteIdentifier, sql, trustedSql } from '../../lib/postgres/sql.ts';

export async function recordErasure(tx: Tx, tenantHash: string): Promise<void> {
  await tx.run(sql`
    insert into erased_tenants (tenant_hash)
    values (${tenantHash})
    on conflict (tenant_hash) do nothing`);
}

/** From the catalog, so that no later table is forgotten. Partitions are reached through their parent. */
const tenantTables = sql`
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
      join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
     where c.relkind in ('r', 'p')
       and not exists (select from pg_inherits i where i.inhrelid = c.oid)`;

export async function listTenantTables(tx: Tx): Promise<string[]> {
  const rows = await tx.rows<{ name: string }>(sql`
    select c.relname as name ${tenantTables}
     order by c.relname`);
  return rows.map((row) => row.name);
}

export async function countRows(tx: Tx, table: string, tenantId: string): Promise<number> {
  const row = await tx.find<{ count: number }>(
    sql`select count(*) as count from ${trustedSql(quoteIdentifier(table))} where tenant_id = ${tenantId}`,
  );
  return row?.count ?? 0;
}

export async function listStorageKeys(tx: Tx, tenantId: string): Promise<string[]> {
  const rows = await tx.rows<{ key: string }>(
    sql`select storage_key as key from files where tenant_id = ${tenantId} and storage <> 'rows'`,
  );
  return rows.map((row) => row.key);
}

/** Tables that grow without bound are emptied first, in batches; the rest is removed by cascade. */
export function deleteJobs(tx: Tx, tenantId: string, limit: number): Promise<number> {
  return deleteRows(tx, { table: 'ingestion_jobs', tenantId, limit });
}

/** Tenant tables that no cascade reaches: a foreign key would have cost too much on every row. */
export async function listUnlinkedTables(tx: Tx): Promise<string[]> {
  const rows = await tx.rows<{ name: string }>(sql`
    select c.relname as name ${tenantTables}
       and c.relname <> 'tenants'
       and not exists (
         select from pg_constraint k
          where k.conrelid = c.oid
            and k.contype = 'f'
            and k.confdeltype = 'c')
     order by c.relname`);
  return rows.map((row) => row.name);
}

/** In a table with partitions a ctid is not unique: the tenant keeps it from reaching rows of others. */
export async function deleteRows(
  tx: Tx,
  { table, tenantId, limit }: { table: string; tenantId: string; limit: number },
): Promise<number> {
  const target = trustedSql(quoteIdentifier(table));
  return tx.run(sql`
    delete from ${target}
     where tenant_id = ${tenantId}
       and ctid = any(array(
       select ctid
         from ${target}
        where tenant_id = ${tenantId}
        limit ${limit}))`);
}

export async function deleteTenant(tx: Tx, tenantId: string): Promise<boolean> {
  return (await tx.run(sql`delete from tenants where tenant_id = ${tenantId}`)) === 1;
}
