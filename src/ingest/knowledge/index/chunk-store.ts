import type { Tx } from '../../../lib/postgres/db.ts';
import { type Sql, sql } from '../../../lib/postgres/sql.ts';
import { toSnakeCase } from '../../../lib/snake-case.ts';
import type { GenerationKey, KbKey } from '../types.ts';

export interface StoredChunk {
  chunkId: number;
  contentHash: string;
}

export function listPresent(tx: Tx, key: GenerationKey, hashes: readonly string[]): Promise<StoredChunk[]> {
  return tx.rows<StoredChunk>(presentStatement(key, hashes));
}

/**
 * Which of these texts are already embedded. It makes one index lookup per hash; `offset 0` keeps the planner from
 * scanning the index of the whole generation instead.
 */
export function presentStatement(
  { tenantId, kbId, generation }: GenerationKey,
  hashes: readonly string[],
): Sql {
  return sql`
    select c.chunk_id as "chunkId", wanted as "contentHash"
      from unnest(${hashes}::text[]) wanted,
           lateral (
             select e.chunk_id, e.kb_id, e.generation
               from embeddings_index e
              where e.tenant_id = ${tenantId}
                and e.content_hash = wanted
             offset 0) c
     where c.kb_id = ${kbId}
       and c.generation = ${generation}`;
}

export interface NewChunk {
  contentHash: string;
  text: string;
  tokens: number;
  context?: string;
  /** Little-endian float32. */
  vector: Buffer;
}

/** Returns the chunks that were not in the index before. */
export function insertChunks(
  tx: Tx,
  { tenantId, kbId, generation, jobId }: GenerationKey & { jobId: string },
  chunks: readonly NewChunk[],
): Promise<StoredChunk[]> {
  return tx.rows<StoredChunk>(sql`
    insert into embeddings_index (
      tenant_id, kb_id, generation, content_hash, text, context, tokens, vector, created_by_job)
    select ${tenantId}, ${kbId}, ${generation}, c.content_hash, c.text, c.context, c.tokens, c.vector, ${jobId}
      from unnest(
             ${chunks.map(({ contentHash }) => contentHash)}::text[], ${chunks.map(({ text }) => text)}::text[],
             ${chunks.map(({ context = '' }) => context)}::text[],
             ${chunks.map(({ tokens }) => tokens)}::integer[], ${chunks.map(({ vector }) => vector)}::bytea[])
             with ordinality as c (content_hash, text, context, tokens, vector, place)
     order by c.place
    on conflict (tenant_id, kb_id, generation, content_hash) do nothing
    returning chunk_id as "chunkId", content_hash as "contentHash"`);
}

export interface NewLink {
  documentId: string;
  revision: number;
  ordinal: number;
  chunkId: number;
  headingPath: readonly string[];
  start: number;
  end: number;
  pages?: { from: number; to: number };
}

export async function insertLinks(
  tx: Tx,
  { tenantId, kbId, jobId }: KbKey & { jobId: string },
  links: readonly NewLink[],
): Promise<void> {
  const records = links.map(({ documentId, revision, ordinal, chunkId, headingPath, start, end, pages }) =>
    toSnakeCase({
      documentId,
      revision,
      ordinal,
      chunkId,
      headingPath,
      startAt: start,
      endAt: end,
      pageFrom: pages?.from ?? null,
      pageTo: pages?.to ?? null,
    }),
  );
  await tx.run(sql`
    insert into knowledge_links (
      tenant_id, kb_id, document_id, revision, ordinal, chunk_id, heading_path, start_at, end_at, page_from,
      page_to, job_id)
    select ${tenantId}, ${kbId}, l.document_id, l.revision, l.ordinal, l.chunk_id,
           array(select jsonb_array_elements_text(l.heading_path)), l.start_at, l.end_at,
           l.page_from, l.page_to, ${jobId}
      from jsonb_to_recordset(${JSON.stringify(records)}::jsonb) as l (
             document_id uuid, revision bigint, ordinal integer, chunk_id bigint, heading_path jsonb,
             start_at integer, end_at integer, page_from integer, page_to integer)`);
}

export interface RevisionKey {
  documentId: string;
  revision: number;
}

/** Two runs created the same document at once: the links of the second move to the row of the first. */
export async function moveLinks(
  tx: Tx,
  { tenantId, kbId }: KbKey,
  { from, revision, to }: { from: string; revision: number; to: string },
): Promise<void> {
  await tx.run(sql`
    update knowledge_links
       set document_id = ${to}
     where tenant_id = ${tenantId}
       and kb_id = ${kbId}
       and document_id = ${from}
       and revision = ${revision}`);
}

/** Deletes up to `limit` links of these revisions; returns their chunks, one per link. */
export async function deleteLinks(
  tx: Tx,
  { tenantId, kbId }: KbKey,
  { revisions, limit }: { revisions: readonly RevisionKey[]; limit: number },
): Promise<number[]> {
  const rows = await tx.rows<{ chunkId: number }>(sql`
    delete from knowledge_links
     where ctid = any(array(
       select l.ctid
         from unnest(${revisions.map(({ documentId }) => documentId)}::uuid[],
                     ${revisions.map(({ revision }) => revision)}::bigint[]) as r (document_id, revision),
              lateral (
                select k.ctid
                  from knowledge_links k
                 where k.tenant_id = ${tenantId}
                   and k.kb_id = ${kbId}
                   and k.document_id = r.document_id
                   and k.revision = r.revision
                 limit ${limit}) l
        limit ${limit}))
    returning chunk_id as "chunkId"`);
  return rows.map(({ chunkId }) => chunkId);
}

/** Deletes those of the chunks that no document links to. The generation must be locked. */
export async function deleteUnlinked(
  tx: Tx,
  { tenantId }: { tenantId: string },
  chunkIds: readonly number[],
): Promise<number> {
  return tx.run(sql`
    delete from embeddings_index e
     where e.ctid = any(array(
       select c.ctid
         from unnest(${chunkIds}::bigint[]) as u (chunk_id),
              lateral (
                select k.ctid
                  from embeddings_index k
                 where k.tenant_id = ${tenantId}
                   and k.chunk_id = u.chunk_id
                 limit 1) c
         left join lateral (
                select true as "isLinked"
                  from knowledge_links l
                 where l.tenant_id = ${tenantId}
                   and l.chunk_id = u.chunk_id
                 limit 1) k on true
        where k."isLinked" is null))`);
}

/**
 * Lists revisions that no document uses: of an older text, of a deleted document, and of a document that a run began
 * and never finished. It leaves out what other jobs are writing or may restore.
 */
export function listSuperseded(
  tx: Tx,
  { tenantId, kbId, busyJobs, limit }: KbKey & { busyJobs: readonly string[]; limit: number },
): Promise<RevisionKey[]> {
  return tx.rows<RevisionKey>(sql`
    select l.document_id as "documentId", l.revision
      from (select distinct k.document_id, k.revision, k.job_id
              from knowledge_links k
             where k.tenant_id = ${tenantId}
               and k.kb_id = ${kbId}) l
      left join knowledge_documents d
        on d.tenant_id = ${tenantId} and d.kb_id = ${kbId} and d.document_id = l.document_id
     where d.revision is distinct from l.revision
       and l.job_id <> all(${busyJobs}::uuid[])
       and (d.last_job is null or d.last_job <> all(${busyJobs}::uuid[]))
     limit ${limit}`);
}

/** Deletes up to `limit` chunks of a generation that is being removed, even if documents link to them. */
export async function deleteChunksOf(
  tx: Tx,
  { tenantId, kbId, generation }: GenerationKey,
  limit: number,
): Promise<number> {
  return tx.run(sql`
    delete from embeddings_index
     where ctid = any(array(
       select ctid
         from embeddings_index
        where tenant_id = ${tenantId}
          and kb_id = ${kbId}
          and generation = ${generation}
        limit ${limit}))`);
}

/** Deletes up to `limit` links of a generation that is being removed. */
export async function deleteLinksOf(
  tx: Tx,
  { tenantId, kbId, generation }: GenerationKey,
  limit: number,
): Promise<number> {
  return tx.run(sql`
    delete from knowledge_links
     where ctid = any(array(
       select l.ctid
         from embeddings_index e
         join knowledge_links l on l.tenant_id = e.tenant_id and l.chunk_id = e.chunk_id
        where e.tenant_id = ${tenantId}
          and e.kb_id = ${kbId}
          and e.generation = ${generation}
        limit ${limit}))`);
}
