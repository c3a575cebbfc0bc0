import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import type { GenerationKey, KbKey } from '../types.ts';

export interface ServingIndex {
  /** Null before the first run has ended. */
  generation: number | null;
  dimensions: number | null;
  /** The embedder that built it, even if the knowledge base has another one now. */
  embedder: unknown;
}

export interface TextMatch {
  chunkId: number;
  /** Above 1 if the chunk contains all words. */
  rank: number;
}

export interface FoundChunk {
  chunkId: number;
  text: string;
  documentId: string;
  uri: string;
  title: string;
  headingPath: string[];
  startAt: number;
  endAt: number;
}

export function findServingIndex(tx: Tx, { tenantId, kbId }: KbKey): Promise<ServingIndex | null> {
  return tx.find<ServingIndex>(sql`
    select g.generation, g.dimensions, g.embedder
      from knowledge_bases k
      left join knowledge_generations g
        on g.tenant_id = k.tenant_id
       and g.kb_id = k.kb_id
       and g.generation = k.generation
     where k.tenant_id = ${tenantId}
       and k.kb_id = ${kbId}
       and k.removed_at is null`);
}

export function listTextMatches(
  tx: Tx,
  { tenantId, kbId, generation }: GenerationKey,
  { query, limit }: { query: string; limit: number },
): Promise<TextMatch[]> {
  return tx.rows<TextMatch>(sql`
    select f.chunk_id as "chunkId", f.rank
      from search_chunk_texts(${tenantId}, ${kbId}, ${generation}, ${query}, ${limit}) f
     order by f.rank desc, f.chunk_id`);
}

/**
 * The chunks with the first of their documents, in the order of the ids. Chunks that belong to no current document are
 * left out: their text is being added or removed.
 */
export function listFoundChunks(
  tx: Tx,
  { tenantId, kbId, generation }: GenerationKey,
  chunkIds: readonly number[],
): Promise<FoundChunk[]> {
  return tx.rows<FoundChunk>(sql`
    select w.chunk_id as "chunkId", c.text, f.document_id as "documentId", f.uri, f.title,
           f.heading_path as "headingPath", f.start_at as "startAt", f.end_at as "endAt"
      from unnest(${chunkIds}::bigint[]) with ordinality as w (chunk_id, place)
     cross join lateral (
           select e.text
             from embeddings_index e
            where e.tenant_id = ${tenantId}
              and e.kb_id = ${kbId}
              and e.generation = ${generation}
              and e.chunk_id = w.chunk_id
            limit 1) c
     cross join lateral (
           select d.document_id, d.uri, d.title, l.heading_path, l.start_at, l.end_at
             from knowledge_links l
             join knowledge_documents d
               on d.tenant_id = l.tenant_id
              and d.kb_id = l.kb_id
              and d.document_id = l.document_id
              and d.revision = l.revision
            where l.tenant_id = ${tenantId}
              and l.kb_id = ${kbId}
              and l.chunk_id = w.chunk_id
              and d.generation = ${generation}
              and d.state <> 'gone'
            order by d.created_at, d.document_id, l.ordinal
            limit 1) f
     order by w.place`);
}
