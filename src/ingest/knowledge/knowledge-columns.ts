import { trustedSql } from '../../lib/postgres/sql.ts';

/** A `KnowledgeBase`, read from `knowledge_bases b`. */
export const kbColumns = trustedSql(`
  b.tenant_id as "tenantId", b.kb_id as "kbId", b.name, b.chunker, b.embedder, b.generation,
  b.created_by as "createdBy", b.created_at as "createdAt", b.updated_at as "updatedAt"`);

/** A `KnowledgeSource`, read from `knowledge_sources s`. */
export const sourceColumns = trustedSql(`
  s.tenant_id as "tenantId", s.kb_id as "kbId", s.source_id as "sourceId", s.type, s.settings,
  s.created_at as "createdAt"`);

/** A `KnowledgeFile`, read from `knowledge_files f`. */
export const fileColumns = trustedSql(`
  f.tenant_id as "tenantId", f.kb_id as "kbId", f.file_id as "fileId", f.name, f.media_type as "mediaType",
  f.size_bytes as "sizeBytes", f.sha256, f.origin, f.created_by as "createdBy", f.created_at as "createdAt"`);

/** A `KnowledgeDocument`, read from `knowledge_documents d`. */
export const documentColumns = trustedSql(`
  d.tenant_id as "tenantId", d.kb_id as "kbId", d.generation, d.document_id as "documentId",
  d.source_id as "sourceId", d.uri, d.title, d.media_type as "mediaType", d.state, d.content_hash as "contentHash",
  d.etag, d.last_modified as "lastModified", d.chunk_count as "chunkCount", d.error_code as "errorCode",
  d.error_text as "errorText", d.notes, d.updated_at as "updatedAt"`);

/** A `Generation`, read from `knowledge_generations g`. */
export const generationColumns = trustedSql(`
  g.tenant_id as "tenantId", g.kb_id as "kbId", g.generation, g.fingerprint, g.dimensions, g.embedder, g.state,
  g.built_by_job as "builtByJob"`);
