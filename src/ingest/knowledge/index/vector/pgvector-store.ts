import type { Tx } from '../../../../lib/postgres/db.ts';
import { quoteIdentifier, type Sql, sql, trustedSql } from '../../../../lib/postgres/sql.ts';
import {
  type StoredVector,
  type VectorHit,
  type VectorRow,
  type VectorSpace,
  type VectorTable,
  vectorIndexDimensions,
} from './types.ts';

/** Null if the table does not exist, because the database has no pgvector. */
export function findVectorTable(tx: Tx): Promise<VectorTable | null> {
  return tx.find<VectorTable>(sql`
    select n.nspname as schema, x.extversion as version
      from pg_extension x
      join pg_namespace n on n.oid = x.extnamespace
     where x.extname = 'vector'
       and to_regclass('public.embeddings_vectors') is not null`);
}

export async function insertVectors(tx: Tx, table: VectorTable, rows: readonly VectorRow[]): Promise<void> {
  await tx.run(sql`
    insert into embeddings_vectors (tenant_id, chunk_id, kb_id, generation, dimensions, embedding)
    select r.tenant_id, r.chunk_id, r.kb_id, r.generation, r.dimensions, r.embedding::${typeOf(table, 'vector')}
      from unnest(${rows.map((row) => row.tenantId)}::text[],
                  ${rows.map((row) => row.chunkId)}::bigint[],
                  ${rows.map((row) => row.kbId)}::text[],
                  ${rows.map((row) => row.generation)}::integer[],
                  ${rows.map((row) => row.dimensions)}::integer[],
                  ${rows.map((row) => textOf(row.vector))}::text[])
           as r (tenant_id, chunk_id, kb_id, generation, dimensions, embedding)
        on conflict do nothing`);
}

/** Stops counting at `most`. */
export async function countVectors(tx: Tx, space: VectorSpace, most: number): Promise<number> {
  const row = await tx.find<{ count: number }>(sql`
    select count(*) as count
      from (select 1
              from embeddings_vectors v
             where v.tenant_id = ${space.tenantId}
               and v.kb_id = ${space.kbId}
               and v.generation = ${space.generation}
             limit ${most}) p`);
  return row?.count ?? 0;
}

interface NearestQuery {
  vector: Float32Array;
  limit: number;
}

/** Compares these vectors of the space. */
export function listNearestOf(
  tx: Tx,
  table: VectorTable,
  space: VectorSpace,
  { vector, limit, chunkIds }: NearestQuery & { chunkIds: readonly number[] },
): Promise<VectorHit[]> {
  const query = sql`${textOf(vector)}::${typeOf(table, 'vector')}`;
  return tx.rows<VectorHit>(sql`
    select v.chunk_id as "chunkId", -(v.embedding ${productOf(table)} ${query}) as score
      from embeddings_vectors v
      join unnest(${chunkIds}::bigint[]) as w (chunk_id) on w.chunk_id = v.chunk_id
     where v.tenant_id = ${space.tenantId}
       and v.kb_id = ${space.kbId}
       and v.generation = ${space.generation}
     order by score desc, v.chunk_id
     limit ${limit}`);
}

/** Compares all vectors of the space; written so that the planner cannot use a graph. */
export function listNearest(
  tx: Tx,
  table: VectorTable,
  space: VectorSpace,
  { vector, limit }: NearestQuery,
): Promise<VectorHit[]> {
  const query = sql`${textOf(vector)}::${typeOf(table, 'vector')}`;
  return tx.rows<VectorHit>(sql`
    select v.chunk_id as "chunkId", -(v.embedding ${productOf(table)} ${query}) as score
      from embeddings_vectors v
     where v.tenant_id = ${space.tenantId}
       and v.kb_id = ${space.kbId}
       and v.generation = ${space.generation}
     order by score desc, v.chunk_id
     limit ${limit}`);
}

export interface GraphSearch {
  /** How many candidates the graph visits; more candidates give better results. */
  efSearch: number;
  /** pgvector 0.8 and newer: continues until enough results belong to this space. */
  isIterative: boolean;
}

/** Until the end of the transaction, or `unsetGraphSearch`. */
export async function setGraphSearch(tx: Tx, { efSearch, isIterative }: GraphSearch): Promise<void> {
  // The planner has no statistics of new rows, and would rather sort the few rows that it expects.
  await tx.run(sql`
    select set_config('hnsw.ef_search', ${String(efSearch)}, true), set_config('enable_sort', 'off', true)`);
  if (isIterative) await tx.run(sql`select set_config('hnsw.iterative_scan', 'relaxed_order', true)`);
}

/** Later statements of the transaction are planned as usual again. */
export async function unsetGraphSearch(tx: Tx): Promise<void> {
  await tx.run(sql`select set_config('enable_sort', 'on', true)`);
}

/** Asks the graph of this number of dimensions for `candidates`, and compares those in full. */
export function listNearestInGraph(
  tx: Tx,
  table: VectorTable,
  space: VectorSpace,
  { vector, limit, candidates }: NearestQuery & { candidates: number },
): Promise<VectorHit[]> {
  const graphType = vectorIndexDimensions.get(space.dimensions) ?? 'vector';
  // Not a parameter: the planner uses a partial index only if the statement contains its condition.
  const dimensions = trustedSql(String(Math.trunc(space.dimensions)));
  const sized = sql`${typeOf(table, graphType)}(${dimensions})`;
  const query = sql`${textOf(vector)}`;
  return tx.rows<VectorHit>(sql`
    with near as materialized (
           select v.chunk_id, v.embedding
             from embeddings_vectors v
            where v.tenant_id = ${space.tenantId}
              and v.kb_id = ${space.kbId}
              and v.generation = ${space.generation}
              and v.dimensions = ${dimensions}
            order by (v.embedding::${sized}) ${productOf(table)} ${query}::${sized}
            limit ${candidates})
    select n.chunk_id as "chunkId",
           -(n.embedding ${productOf(table)} ${query}::${typeOf(table, 'vector')}) as score
      from near n
     order by score desc, n.chunk_id
     limit ${limit}`);
}

/** Chunks of all tenants that were written before the table existed, by key. */
export function listChunksWithoutRow(
  tx: Tx,
  { after, limit }: { after: { tenantId: string; chunkId: number }; limit: number },
): Promise<(StoredVector & Omit<VectorSpace, 'dimensions'>)[]> {
  return tx.rows(sql`
    select e.tenant_id as "tenantId", e.kb_id as "kbId", e.generation, e.chunk_id as "chunkId", e.vector as bytes
      from embeddings_index e
     where (e.tenant_id, e.chunk_id) > (${after.tenantId}, ${after.chunkId}::bigint)
       and not exists (
         select from embeddings_vectors v
          where v.tenant_id = e.tenant_id
            and v.chunk_id = e.chunk_id)
     order by e.tenant_id, e.chunk_id
     limit ${limit}`);
}

/** With its schema: the extension may be installed outside of the search path. */
function typeOf({ schema }: VectorTable, type: 'vector' | 'halfvec'): Sql {
  return trustedSql(`${quoteIdentifier(schema)}.${type}`);
}

/** The negative product, which for vectors of length 1 is the negative cosine. */
function productOf({ schema }: VectorTable): Sql {
  return trustedSql(`operator(${quoteIdentifier(schema)}.<#>)`);
}

function textOf(vector: Float32Array): string {
  return `[${vector.join(',')}]`;
}
