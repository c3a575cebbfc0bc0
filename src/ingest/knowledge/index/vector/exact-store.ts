import type { Tx } from '../../../../lib/postgres/db.ts';
import { sql } from '../../../../lib/postgres/sql.ts';
import type { StoredVector, VectorSpace } from './types.ts';

export interface SpaceState {
  incarnation: string;
  version: number;
  /** Whether this transaction has written anything: then it may see rows that are never committed. */
  hasWritten: boolean;
}

/** Must be read before the chunks: what is committed in between is then read again, and nothing is missed. */
export function findSpaceState(tx: Tx, space: VectorSpace): Promise<SpaceState | null> {
  return tx.find<SpaceState>(sql`
    select g.created_at::text as incarnation, g.index_version as version,
           pg_current_xact_id_if_assigned() is not null as "hasWritten"
      from knowledge_generations g
     where g.tenant_id = ${space.tenantId}
       and g.kb_id = ${space.kbId}
       and g.generation = ${space.generation}`);
}

/** Returned as one text: a row for each id would cost more than the rest of a search. */
export async function listChunkIds(
  tx: Tx,
  space: VectorSpace,
  { after, limit }: { after: number; limit: number },
): Promise<number[]> {
  const row = await tx.find<{ ids: string | null }>(sql`
    select string_agg(p.chunk_id::text, ',' order by p.chunk_id) as ids
      from (select e.chunk_id
              from embeddings_index e
             where e.tenant_id = ${space.tenantId}
               and e.kb_id = ${space.kbId}
               and e.generation = ${space.generation}
               and e.chunk_id > ${after}
             order by e.chunk_id
             limit ${limit}) p`);
  return row?.ids ? row.ids.split(',').map(Number) : [];
}

/** One index lookup for each chunk: PostgreSQL before 17 would read the whole space for `= any`. */
export function listVectors(
  tx: Tx,
  space: VectorSpace,
  chunkIds: readonly number[],
): Promise<StoredVector[]> {
  return tx.rows<StoredVector>(sql`
    select w.chunk_id as "chunkId", c.vector as bytes
      from unnest(${chunkIds}::bigint[]) as w (chunk_id)
     cross join lateral (
           select e.vector
             from embeddings_index e
            where e.tenant_id = ${space.tenantId}
              and e.kb_id = ${space.kbId}
              and e.generation = ${space.generation}
              and e.chunk_id = w.chunk_id
            limit 1) c`);
}

export function listVectorsAfter(
  tx: Tx,
  space: VectorSpace,
  { after, limit }: { after: number; limit: number },
): Promise<StoredVector[]> {
  return tx.rows<StoredVector>(sql`
    select e.chunk_id as "chunkId", e.vector as bytes
      from embeddings_index e
     where e.tenant_id = ${space.tenantId}
       and e.kb_id = ${space.kbId}
       and e.generation = ${space.generation}
       and e.chunk_id > ${after}
     order by e.chunk_id
     limit ${limit}`);
}
