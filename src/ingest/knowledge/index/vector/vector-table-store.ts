import type { OwnerSession } from '../../../../lib/postgres/optional-extension.ts';
import { quoteIdentifier } from '../../../../lib/postgres/sql.ts';
import { vectorIndexDimensions } from './types.ts';

export interface VectorExtension {
  /** Null if not installed in this database. */
  installed: string | null;
  /** Null if not available on this server. */
  available: string | null;
  schema: string | null;
  hasChunks: boolean;
  hasTable: boolean;
}

export async function findVectorExtension(session: OwnerSession): Promise<VectorExtension> {
  const rows = await session.query<VectorExtension>(`
    select (select x.extversion from pg_extension x where x.extname = 'vector') as installed,
           (select a.default_version from pg_available_extensions a where a.name = 'vector') as available,
           (select n.nspname
              from pg_extension x
              join pg_namespace n on n.oid = x.extnamespace
             where x.extname = 'vector') as schema,
           to_regclass('public.embeddings_index') is not null as "hasChunks",
           to_regclass('public.embeddings_vectors') is not null as "hasTable"`);
  return rows[0] as VectorExtension;
}

/**
 * Creates the table of vectors beside the chunks. Creating the foreign key waits for all transactions that write
 * chunks. From then on each writer sees the table and fills it, and older vectors can be filled in.
 */
export async function createVectorTable(session: OwnerSession, schema: string): Promise<void> {
  await session.query(`
    create table embeddings_vectors (
      tenant_id  text not null,
      chunk_id   bigint not null,
      kb_id      text not null,
      generation integer not null,
      dimensions integer not null,
      embedding  ${quoteIdentifier(schema)}.vector not null,
      primary key (tenant_id, chunk_id),
      foreign key (tenant_id, chunk_id) references embeddings_index on delete cascade
    )`);
  await session.query(
    'create index embeddings_vectors_generation on embeddings_vectors (tenant_id, kb_id, generation)',
  );
  await session.query(`select guard_tenant_table('embeddings_vectors')`);
  await session.query('grant select, insert on embeddings_vectors to sluice_tenant');
  await session.query('grant insert on embeddings_vectors to sluice_kernel');
}

/** One graph for each common number of dimensions; for other dimensions searches compare all vectors. */
export async function createVectorIndexes(session: OwnerSession, schema: string): Promise<void> {
  const rows = await session.query<{ name: string }>(`
    select x.relname as name
      from pg_index i
      join pg_class x on x.oid = i.indexrelid
     where i.indrelid = 'public.embeddings_vectors'::regclass`);
  const existing = new Set(rows.map(({ name }) => name));
  for (const [dimensions, type] of vectorIndexDimensions) {
    const name = `embeddings_vectors_hnsw_${dimensions}`;
    if (existing.has(name)) continue;
    const owner = quoteIdentifier(schema);
    await session.query(`
      create index ${name} on embeddings_vectors
       using hnsw ((embedding::${owner}.${type}(${dimensions})) ${owner}.${type}_ip_ops)
       where dimensions = ${dimensions}`);
  }
}
