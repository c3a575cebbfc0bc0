import type { Tx } from '../../../lib/postgres/db.ts';
import { type Sql, sql, trustedSql } from '../../../lib/postgres/sql.ts';
import type { Labels, Metadata } from '../labels/types.ts';
import type { DocumentKey, DocumentState, GenerationKey, KbKey, KnowledgeDocument } from '../types.ts';

/** What runs do to documents. The generation must be locked for all of it. */

export interface RunKey extends GenerationKey {
  jobId: string;
}

interface RunBatch extends KbKey {
  jobId: string;
  limit: number;
}

export interface VisitKey extends RunKey {
  sourceId: string;
}

export interface KnownRow
  extends Pick<KnowledgeDocument, 'uri' | 'documentId' | 'contentHash' | 'etag' | 'lastModified'> {
  lastJob: string;
}

export function listKnown(
  tx: Tx,
  key: GenerationKey & { sourceId: string },
  uris: readonly string[],
): Promise<KnownRow[]> {
  return tx.rows<KnownRow>(knownStatement(key, uris));
}

/**
 * One index lookup for each URI. The source implies the knowledge base. The key is computed beside the lookup: under a
 * policy, no condition with a function that could show its arguments reaches an index.
 */
export function knownStatement(
  { tenantId, generation, sourceId }: GenerationKey & { sourceId: string },
  uris: readonly string[],
): Sql {
  return sql`
    select wanted as uri, k.document_id as "documentId", k.content_hash as "contentHash", k.etag,
           k.last_modified as "lastModified", k.last_job as "lastJob"
      from unnest(${uris}::text[]) wanted,
           lateral (select sha256(convert_to(wanted, 'UTF8')) as uri_key offset 0) w,
           lateral (
             select d.document_id, d.content_hash, d.etag, d.last_modified, d.last_job
               from knowledge_documents d
              where d.tenant_id = ${tenantId}
                and d.generation = ${generation}
                and d.source_id = ${sourceId}
                and d.uri_key = w.uri_key
              limit 1) k`;
}

/** All documents of a source that are not gone, by URI in byte order. */
export function listKnownPage(
  tx: Tx,
  { tenantId, kbId, generation, sourceId }: GenerationKey & { sourceId: string },
  { after, limit }: { after: string | null; limit: number },
): Promise<Omit<KnownRow, 'documentId' | 'lastJob'>[]> {
  return tx.rows(sql`
    select d.uri, d.content_hash as "contentHash", d.etag, d.last_modified as "lastModified"
      from knowledge_documents d
     where d.tenant_id = ${tenantId}
       and d.kb_id = ${kbId}
       and d.generation = ${generation}
       and d.source_id = ${sourceId}
       and d.state <> 'gone'
       and (${after}::text is null or d.uri collate "C" > ${after})
     order by d.uri collate "C"
     limit ${limit}`);
}

export async function countKnown(
  tx: Tx,
  { tenantId, kbId, generation, sourceId }: GenerationKey & { sourceId: string },
): Promise<number> {
  const row = await tx.find<{ count: number }>(sql`
    select count(*) as count
      from knowledge_documents d
     where d.tenant_id = ${tenantId}
       and d.kb_id = ${kbId}
       and d.generation = ${generation}
       and d.source_id = ${sourceId}`);
  return row?.count ?? 0;
}

/** The state of a document that cancel restores; `d` is the row before the update. */
const before = trustedSql(`
  jsonb_build_object('title', d.title, 'media_type', d.media_type, 'state', d.state, 'content_hash', d.content_hash,
    'etag', d.etag, 'last_modified', d.last_modified, 'revision', d.revision, 'chunk_count', d.chunk_count,
    'error_code', d.error_code, 'error_text', d.error_text, 'notes', d.notes, 'last_job', d.last_job,
    'own_metadata', d.own_metadata, 'own_allow', to_jsonb(d.own_allow))`);

/** What a document and its source say of it. */
export interface OwnLabels {
  ownMetadata: Metadata;
  ownAllow: string[] | null;
}

export interface IndexedDocument
  extends Omit<KnowledgeDocument, keyof VisitKey | keyof Labels | 'updatedAt'>,
    OwnLabels {
  state: Exclude<DocumentState, 'gone'>;
  revision: number;
}

/** Stores documents whose new text is completely indexed. Returns the id of each. */
export function saveDocuments(
  tx: Tx,
  { tenantId, kbId, generation, sourceId, jobId }: VisitKey,
  documents: readonly IndexedDocument[],
): Promise<{ uri: string; documentId: string }[]> {
  return tx.rows(sql`
    insert into knowledge_documents as d (
      tenant_id, kb_id, document_id, generation, source_id, uri, uri_key, title, media_type, state, content_hash, etag,
      last_modified, revision, chunk_count, error_code, error_text, notes, own_metadata, own_allow, created_by_job,
      last_job)
    select ${tenantId}, ${kbId}, g."documentId", ${generation}, ${sourceId}, g.uri, sha256(convert_to(g.uri, 'UTF8')),
           g.title, g."mediaType", g.state, g."contentHash", g.etag, g."lastModified", g.revision, g."chunkCount",
           g."errorCode", g."errorText", g.notes, g."ownMetadata", g."ownAllow", ${jobId}, ${jobId}
      from jsonb_to_recordset(${JSON.stringify(documents)}::jsonb) as g (
             "documentId" uuid, uri text, title text, "mediaType" text, state text, "contentHash" text, etag text,
             "lastModified" text, revision bigint, "chunkCount" integer, "errorCode" text, "errorText" text,
             notes text[], "ownMetadata" jsonb, "ownAllow" text[])
    on conflict (tenant_id, source_id, uri_key, generation) do update
       set previous = case when d.last_job = ${jobId} then d.previous else ${before} end,
           title = excluded.title,
           media_type = excluded.media_type,
           state = excluded.state,
           content_hash = excluded.content_hash,
           etag = excluded.etag,
           last_modified = excluded.last_modified,
           revision = excluded.revision,
           chunk_count = excluded.chunk_count,
           error_code = excluded.error_code,
           error_text = excluded.error_text,
           notes = excluded.notes,
           own_metadata = excluded.own_metadata,
           own_allow = excluded.own_allow,
           last_job = ${jobId},
           seen_at = clock_timestamp(),
           updated_at = clock_timestamp()
    returning d.uri, d.document_id as "documentId"`);
}

export interface FailedDocument extends OwnLabels {
  documentId: string;
  uri: string;
  title: string;
  errorCode: string;
  errorText: string;
}

/** Records why documents could not be read; what is indexed of them stays. */
export async function noteFailures(
  tx: Tx,
  { tenantId, kbId, generation, sourceId, jobId }: VisitKey,
  documents: readonly FailedDocument[],
): Promise<void> {
  await tx.run(sql`
    insert into knowledge_documents as d (
      tenant_id, kb_id, document_id, generation, source_id, uri, uri_key, title, state, error_code, error_text,
      own_metadata, own_allow, created_by_job, last_job)
    select ${tenantId}, ${kbId}, g."documentId", ${generation}, ${sourceId}, g.uri, sha256(convert_to(g.uri, 'UTF8')),
           g.title, 'error', g."errorCode", g."errorText", g."ownMetadata", g."ownAllow", ${jobId}, ${jobId}
      from jsonb_to_recordset(${JSON.stringify(documents)}::jsonb) as g (
             "documentId" uuid, uri text, title text, "errorCode" text, "errorText" text, "ownMetadata" jsonb,
             "ownAllow" text[])
    on conflict (tenant_id, source_id, uri_key, generation) do update
       set previous = case when d.last_job = ${jobId} then d.previous else ${before} end,
           state = 'error',
           error_code = excluded.error_code,
           error_text = excluded.error_text,
           last_job = ${jobId},
           seen_at = clock_timestamp(),
           updated_at = clock_timestamp()`);
}

export type UnchangedDocument = Pick<KnowledgeDocument, 'uri' | 'etag' | 'lastModified'>;

/** Records that documents were seen unchanged, and clears earlier failures. */
export async function noteUnchanged(
  tx: Tx,
  key: VisitKey,
  documents: readonly UnchangedDocument[],
): Promise<void> {
  const { jobId } = key;
  await tx.run(sql`
    update knowledge_documents d
       set state = case when d.state in ('error', 'gone') then 'indexed' else d.state end,
           error_code = null,
           error_text = null,
           etag = coalesce(g.etag, d.etag),
           last_modified = coalesce(g.last_modified, d.last_modified),
           last_job = ${jobId},
           previous = case when d.last_job = ${jobId} then d.previous end,
           seen_at = clock_timestamp()
      from unnest(${documents.map(({ uri }) => uri)}::text[],
                  ${documents.map(({ etag }) => etag)}::text[],
                  ${documents.map(({ lastModified }) => lastModified)}::text[]) as g (uri, etag, last_modified),
           ${placeOfUri(key)} p
     where d.ctid = p.place`);
}

/**
 * Marks documents as gone. Searches find them until the run ends, so that cancel can restore them. Returns how many
 * there were.
 */
export async function noteGone(tx: Tx, key: VisitKey, uris: readonly string[]): Promise<number> {
  const { jobId } = key;
  return tx.run(sql`
    update knowledge_documents d
       set previous = case when d.last_job = ${jobId} then d.previous else ${before} end,
           state = 'gone',
           last_job = ${jobId},
           seen_at = clock_timestamp(),
           updated_at = clock_timestamp()
      from unnest(${uris}::text[]) as g (uri),
           ${placeOfUri(key)} p
     where d.ctid = p.place`);
}

/** One index lookup for each `g.uri`. */
function placeOfUri({ tenantId, generation, sourceId }: VisitKey) {
  return sql`lateral (select sha256(convert_to(g.uri, 'UTF8')) as uri_key offset 0) w,
           lateral (
             select k.ctid as place
               from knowledge_documents k
              where k.tenant_id = ${tenantId}
                and k.generation = ${generation}
                and k.source_id = ${sourceId}
                and k.uri_key = w.uri_key
              limit 1)`;
}

export interface SweepScope extends RunKey {
  /** Sources that have listed all their documents. */
  completeSources: readonly string[];
  startedAt: Date;
  limit: number;
}

/**
 * Deletes up to `limit` documents that are marked as gone, that a complete source did not list, or whose source no
 * longer exists. Documents that another run has seen since this one began are kept.
 */
export async function deleteGone(
  tx: Tx,
  { tenantId, kbId, generation, jobId, completeSources, startedAt, limit }: SweepScope,
): Promise<{ deleted: number; unseen: number }> {
  const rows = await tx.rows<{ wasTold: boolean }>(sql`
    delete from knowledge_documents
     where ctid = any(array(
       select d.ctid
         from knowledge_documents d
        where d.tenant_id = ${tenantId}
          and d.kb_id = ${kbId}
          and d.generation = ${generation}
          and ((d.state = 'gone' and d.last_job = ${jobId})
               or (d.last_job <> ${jobId} and d.seen_at < ${startedAt}
                   and (d.source_id = any(${completeSources}::uuid[])
                        or not exists (
                          select from knowledge_sources s
                           where s.tenant_id = d.tenant_id
                             and s.kb_id = d.kb_id
                             and s.source_id = d.source_id))))
        limit ${limit}))
    returning last_job = ${jobId} as "wasTold"`);
  return { deleted: rows.length, unseen: rows.filter(({ wasTold }) => !wasTold).length };
}

/** Drops the state that cancel would restore: the run has ended. */
export async function adoptDocuments(tx: Tx, { tenantId, kbId, jobId, limit }: RunBatch): Promise<number> {
  return tx.run(sql`
    update knowledge_documents
       set previous = null
     where ctid = any(array(
       select d.ctid
         from knowledge_documents d
        where d.tenant_id = ${tenantId}
          and d.kb_id = ${kbId}
          and d.previous is not null
          and d.last_job = ${jobId}
        limit ${limit}))`);
}

/** Cancel: restores documents that this run changed. */
export async function restoreDocuments(tx: Tx, { tenantId, kbId, jobId, limit }: RunBatch): Promise<number> {
  return tx.run(sql`
    update knowledge_documents d
       set title = p.title,
           media_type = p.media_type,
           state = p.state,
           content_hash = p.content_hash,
           etag = p.etag,
           last_modified = p.last_modified,
           revision = p.revision,
           chunk_count = p.chunk_count,
           error_code = p.error_code,
           error_text = p.error_text,
           -- Versions before this column did not record them.
           notes = coalesce(p.notes, '{}'),
           own_metadata = coalesce(p.own_metadata, '{}'),
           own_allow = p.own_allow,
           last_job = p.last_job,
           previous = null,
           updated_at = clock_timestamp()
      from (select t.ctid as place, w.*
              from knowledge_documents t,
                   lateral jsonb_to_record(t.previous) as w (
                     title text, media_type text, state text, content_hash text, etag text, last_modified text,
                     revision bigint, chunk_count integer, error_code text, error_text text,
                     notes text[], last_job uuid, own_metadata jsonb, own_allow text[])
             where t.tenant_id = ${tenantId}
               and t.kb_id = ${kbId}
               and t.previous is not null
               and t.last_job = ${jobId}
             limit ${limit}) p
     where d.ctid = p.place`);
}

/** Cancel: deletes documents that this run created, unless another run has changed them since. */
export async function deleteCreated(tx: Tx, { tenantId, kbId, jobId, limit }: RunBatch): Promise<number> {
  return tx.run(sql`
    delete from knowledge_documents
     where ctid = any(array(
       select d.ctid
         from knowledge_documents d
        where d.tenant_id = ${tenantId}
          and d.kb_id = ${kbId}
          and d.created_by_job = ${jobId}
          and d.last_job = ${jobId}
        limit ${limit}))`);
}

export async function deleteDocumentsOf(
  tx: Tx,
  { tenantId, kbId, generation }: GenerationKey,
  limit: number,
): Promise<number> {
  return tx.run(sql`
    delete from knowledge_documents
     where ctid = any(array(
       select d.ctid
         from knowledge_documents d
        where d.tenant_id = ${tenantId}
          and d.kb_id = ${kbId}
          and d.generation = ${generation}
        limit ${limit}))`);
}

/** Returns the revision of its links, or null if the document does not exist. */
export async function deleteDocument(
  tx: Tx,
  { tenantId, kbId, documentId }: DocumentKey,
): Promise<number | null> {
  const row = await tx.find<{ revision: number }>(sql`
    delete from knowledge_documents
     where tenant_id = ${tenantId}
       and kb_id = ${kbId}
       and document_id = ${documentId}
    returning revision`);
  return row?.revision ?? null;
}
