import type { Database } from '../../src/lib/postgres/db.ts';
import { quoteIdentifier, sql, trustedSql } from '../../src/lib/postgres/sql.ts';

// How the version before erases a tenant; see old-jobs.ts. It deletes by ctid, which was unique in every
// table of that version.

const batchSize = 10_000;

export async function eraseTenant(db: Database, tenantId: string): Promise<void> {
  await deleteInBatches(db, { table: 'ingestion_jobs', tenantId });
  const unlinked = await db.kernel((tx) =>
    tx.rows<{ name: string }>(sql`
      select c.relname as name
        from pg_class c
        join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
        join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
       where c.relkind in ('r', 'p')
         and not c.relispartition
         and c.relname <> 'tenants'
         and not exists (
           select from pg_constraint k
            where k.conrelid = c.oid
              and k.contype = 'f'
              and k.confdeltype = 'c')
       order by c.relname`),
  );
  for (const { name } of unlinked) await deleteInBatches(db, { table: name, tenantId });
  await db.kernel((tx) => tx.run(sql`delete from tenants where tenant_id = ${tenantId}`));
  for (const { name } of unlinked) await deleteInBatches(db, { table: name, tenantId });
}

async function deleteInBatches(
  db: Database,
  { table, tenantId }: { table: string; tenantId: string },
): Promise<void> {
  const target = trustedSql(quoteIdentifier(table));
  const statement = sql`
    delete from ${target}
     where ctid = any(array(
       select ctid
         from ${target}
        where tenant_id = ${tenantId}
        limit ${batchSize}))`;
  while ((await db.kernel((tx) => tx.run(statement))) === batchSize);
}
