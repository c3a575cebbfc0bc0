import type { Tx } from '../../../lib/postgres/db.ts';
import { sql, trustedSql } from '../../../lib/postgres/sql.ts';
import type { DocumentKey, DocumentState, GenerationKey, KbKey, KnowledgeDocument } from '../types.ts';

/** A `KnowledgeDocument`, read from `knowledge_documents d`. */
const documentColumns = trustedSql(`
  d.tenant_id as "tenantId", d.kb_id as "kbId", d.generation, d.document_id as "documentId",
  d.source_id as "sourceId", d.uri, d.title, d.media_type as "mediaType", d.state, d.content_hash as "contentHash",
  d.etag, d.last_modified as "lastModified", d.chunk_count as "chunkCount", d.error_code as "errorCode",
  d.error_text as "errorText", d.notes, d.metadata, d.allow, d.updated_at as "updatedAt"`);

export function listDocuments(
  tx: Tx,
  filter: KbKey & {
    generation: number;
    state?: DocumentState | undefined;
    /** A path over the metadata; null: all documents. */
    filter: string | null;
    after: string | null;
    limit: number;
  },
): Promise<KnowledgeDocument[]> {
  return tx.rows<KnowledgeDocument>(sql`
    select ${documentColumns}
      from knowledge_documents d
     where d.tenant_id = ${filter.tenantId}
       and d.kb_id = ${filter.kbId}
       and d.generation = ${filter.generation}
       and (${filter.state ?? null}::text is null or d.state = ${filter.state ?? null})
       and (${filter.filter}::jsonpath is null
            or d.document_id in (
              select m.document_id
                from matching_documents(
                       ${filter.tenantId}, ${filter.kbId}, ${filter.generation}, ${filter.filter}::jsonpath) m))
       and (${filter.after}::uuid is null or d.document_id > ${filter.after}::uuid)
     order by d.document_id
     limit ${filter.limit}`);
}

export function findDocument(
  tx: Tx,
  { tenantId, kbId, documentId }: DocumentKey,
): Promise<KnowledgeDocument | null> {
  return tx.find<KnowledgeDocument>(sql`
    select ${documentColumns}
      from knowledge_documents d
     where d.tenant_id = ${tenantId}
       and d.kb_id = ${kbId}
       and d.document_id = ${documentId}`);
}

interface Matching extends GenerationKey {
  filter: string;
}

/** The URIs of matching documents that were made from added files. */
export function listMatchingFiles(
  tx: Tx,
  { tenantId, kbId, generation, filter, limit }: Matching & { limit: number },
): Promise<{ uri: string }[]> {
  return tx.rows(sql`
    select d.uri
      from matching_documents(${tenantId}, ${kbId}, ${generation}, ${filter}::jsonpath) m
      join knowledge_documents d
        on d.tenant_id = ${tenantId}
       and d.kb_id = ${kbId}
       and d.document_id = m.document_id
      join knowledge_sources s
        on s.tenant_id = d.tenant_id
       and s.kb_id = d.kb_id
       and s.source_id = d.source_id
     where s.type = 'files'
     order by d.uri
     limit ${limit}`);
}

export async function countMatchingOthers(
  tx: Tx,
  { tenantId, kbId, generation, filter }: Matching,
): Promise<number> {
  const row = await tx.find<{ count: number }>(sql`
    select count(*) as count
      from matching_documents(${tenantId}, ${kbId}, ${generation}, ${filter}::jsonpath) m
      join knowledge_documents d
        on d.tenant_id = ${tenantId}
       and d.kb_id = ${kbId}
       and d.document_id = m.document_id
     where not exists (
       select
         from knowledge_sources s
        where s.tenant_id = d.tenant_id
          and s.kb_id = d.kb_id
          and s.source_id = d.source_id
          and s.type = 'files')`);
  return row?.count ?? 0;
}

export function countDocuments(
  tx: Tx,
  { tenantId, kbId, generation }: GenerationKey,
): Promise<{ state: DocumentState; count: number; chunks: number }[]> {
  return tx.rows(sql`
    select d.state, count(*) as count, sum(d.chunk_count)::bigint as chunks
      from knowledge_documents d
     where d.tenant_id = ${tenantId}
       and d.kb_id = ${kbId}
       and d.generation = ${generation}
     group by d.state
     order by d.state`);
}
