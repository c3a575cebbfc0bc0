import type { Tx } from '../../lib/postgres/db.ts';
import { columnList, sql, trustedSql } from '../../lib/postgres/sql.ts';
import type { KbKey, KnowledgeBase, KnowledgeFile, KnowledgeSource, SourceKey } from './types.ts';

/** A `KnowledgeBase`, read from `knowledge_bases b`. */
const kbColumns = trustedSql(`
  b.tenant_id as "tenantId", b.kb_id as "kbId", b.name, b.chunker, b.embedder, b.reranker, b.language, b.generation,
  b.created_by as "createdBy", b.created_at as "createdAt", b.updated_at as "updatedAt"`);

/** A `KnowledgeSource`, read from `knowledge_sources s`. */
const sourceColumns = columnList('tenant_id kb_id source_id type settings created_at', 's.');

/** A `KnowledgeFile`, read from `knowledge_files f`. */
export const fileColumns = trustedSql(`
  f.tenant_id as "tenantId", f.kb_id as "kbId", f.file_id as "fileId", f.name, f.media_type as "mediaType",
  f.size_bytes as "sizeBytes", f.sha256, f.origin, f.created_by as "createdBy", f.created_at as "createdAt"`);

export type NewKb = Pick<
  KnowledgeBase,
  'tenantId' | 'kbId' | 'name' | 'chunker' | 'embedder' | 'language' | 'createdBy'
> &
  Partial<Pick<KnowledgeBase, 'reranker'>>;

/** Null if the tenant already has a knowledge base with this id. */
export function insertKb(tx: Tx, kb: NewKb): Promise<KnowledgeBase | null> {
  return tx.find<KnowledgeBase>(sql`
    insert into knowledge_bases as b (tenant_id, kb_id, name, chunker, embedder, reranker, language, created_by)
    values (${kb.tenantId}, ${kb.kbId}, ${kb.name}, ${JSON.stringify(kb.chunker)}, ${JSON.stringify(kb.embedder)},
            ${kb.reranker ? JSON.stringify(kb.reranker) : null}::jsonb, ${kb.language}, ${kb.createdBy})
    on conflict (tenant_id, kb_id) do nothing
    returning ${kbColumns}`);
}

/** Here and below, a knowledge base that is being deleted does not exist. */
const oneKb = ({ tenantId, kbId }: KbKey) => sql`
    select ${kbColumns}
      from knowledge_bases b
     where b.tenant_id = ${tenantId}
       and b.kb_id = ${kbId}
       and b.removed_at is null`;

export function findKb(tx: Tx, key: KbKey): Promise<KnowledgeBase | null> {
  return tx.find<KnowledgeBase>(oneKb(key));
}

/** Locks it until the end of the transaction against changes, deletion and switching; commits of runs wait. */
export function lockKb(tx: Tx, key: KbKey): Promise<KnowledgeBase | null> {
  return tx.find<KnowledgeBase>(sql`${oneKb(key)} for update`);
}

/** A shared lock: several transactions may hold it, and none may switch or delete the knowledge base. */
export function shareKb(tx: Tx, key: KbKey): Promise<KnowledgeBase | null> {
  return tx.find<KnowledgeBase>(sql`${oneKb(key)} for share`);
}

/** By id. */
export function listKbs(
  tx: Tx,
  { tenantId, after, limit }: { tenantId: string; after: string | null; limit: number },
): Promise<KnowledgeBase[]> {
  return tx.rows<KnowledgeBase>(sql`
    select ${kbColumns}
      from knowledge_bases b
     where b.tenant_id = ${tenantId}
       and b.removed_at is null
       and (${after}::text is null or b.kb_id > ${after})
     order by b.kb_id
     limit ${limit}`);
}

export async function countKbs(tx: Tx, tenantId: string): Promise<number> {
  const row = await tx.find<{ count: number }>(sql`
    select count(*) as count
      from knowledge_bases
     where tenant_id = ${tenantId}
       and removed_at is null`);
  return row?.count ?? 0;
}

/** A new chunker or embedder takes effect with the next run, which builds a new generation. */
export function updateKb(
  tx: Tx,
  change: Pick<
    KnowledgeBase,
    'tenantId' | 'kbId' | 'name' | 'chunker' | 'embedder' | 'reranker' | 'language'
  >,
): Promise<KnowledgeBase | null> {
  return tx.find<KnowledgeBase>(sql`
    update knowledge_bases b
       set name = ${change.name},
           chunker = ${JSON.stringify(change.chunker)},
           embedder = ${JSON.stringify(change.embedder)},
           reranker = ${change.reranker === null ? null : JSON.stringify(change.reranker)}::jsonb,
           language = ${change.language},
           updated_at = clock_timestamp()
     where b.tenant_id = ${change.tenantId}
       and b.kb_id = ${change.kbId}
       and b.removed_at is null
    returning ${kbColumns}`);
}

/** No request finds it from now on; its contents are deleted later. */
export async function hideKb(tx: Tx, { tenantId, kbId }: KbKey): Promise<void> {
  await tx.run(sql`
    update knowledge_bases
       set removed_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and kb_id = ${kbId}
       and removed_at is null`);
}

/** Returns whether a knowledge base with this id is being deleted, and locks it. */
export async function lockHiddenKb(tx: Tx, { tenantId, kbId }: KbKey): Promise<boolean> {
  const row = await tx.find<{ kbId: string }>(sql`
    select b.kb_id as "kbId"
      from knowledge_bases b
     where b.tenant_id = ${tenantId}
       and b.kb_id = ${kbId}
       and b.removed_at is not null
       for update`);
  return row !== null;
}

/** Of all tenants, oldest first. */
export function listHiddenKbs(tx: Tx, limit: number): Promise<KbKey[]> {
  return tx.rows<KbKey>(sql`
    select b.tenant_id as "tenantId", b.kb_id as "kbId"
      from knowledge_bases b
     where b.removed_at is not null
     order by b.removed_at
     limit ${limit}`);
}

/** Deletes its sources, files and generations too; documents and chunks must be deleted before. */
export async function deleteHiddenKb(tx: Tx, { tenantId, kbId }: KbKey): Promise<boolean> {
  const deleted = await tx.run(sql`
    delete from knowledge_bases
     where tenant_id = ${tenantId}
       and kb_id = ${kbId}
       and removed_at is not null`);
  return deleted === 1;
}

export type NewSource = Pick<KnowledgeSource, 'tenantId' | 'kbId' | 'sourceId' | 'type' | 'settings'>;

export async function insertSource(tx: Tx, source: NewSource): Promise<KnowledgeSource> {
  const row = await tx.find<KnowledgeSource>(sql`
    insert into knowledge_sources as s (tenant_id, kb_id, source_id, type, settings)
    values (${source.tenantId}, ${source.kbId}, ${source.sourceId}, ${source.type},
            ${JSON.stringify(source.settings)})
    returning ${sourceColumns}`);
  if (!row) throw new Error(`The row of source ${source.sourceId} was not returned by its own insert`);
  return row;
}

export function findSource(tx: Tx, { tenantId, kbId, sourceId }: SourceKey): Promise<KnowledgeSource | null> {
  return tx.find<KnowledgeSource>(sql`
    select ${sourceColumns}
      from knowledge_sources s
     where s.tenant_id = ${tenantId}
       and s.kb_id = ${kbId}
       and s.source_id = ${sourceId}`);
}

/** The source of the files that were added. */
export function findFilesSource(tx: Tx, { tenantId, kbId }: KbKey): Promise<SourceKey | null> {
  return tx.find<SourceKey>(sql`
    select s.tenant_id as "tenantId", s.kb_id as "kbId", s.source_id as "sourceId"
      from knowledge_sources s
     where s.tenant_id = ${tenantId}
       and s.kb_id = ${kbId}
       and s.type = 'files'`);
}

/** When the knowledge base was created, and whether it has its source for references. */
export function findIntake(
  tx: Tx,
  { tenantId, kbId }: KbKey,
): Promise<{ createdAt: Date; hasReferences: boolean } | null> {
  return tx.find(sql`
    select i.created_at as "createdAt", i.has_references as "hasReferences"
      from find_reference_intake(${tenantId}, ${kbId}) i`);
}

/** In the order in which runs read them, oldest first. */
export function listSources(
  tx: Tx,
  { tenantId, kbId, limit }: KbKey & { limit: number },
): Promise<KnowledgeSource[]> {
  return tx.rows<KnowledgeSource>(sql`
    select ${sourceColumns}
      from knowledge_sources s
     where s.tenant_id = ${tenantId}
       and s.kb_id = ${kbId}
     order by s.source_id
     limit ${limit}`);
}

/** The next run removes the documents of a deleted source from the index. */
export async function deleteSource(tx: Tx, { tenantId, kbId, sourceId }: SourceKey): Promise<boolean> {
  const deleted = await tx.run(sql`
    delete from knowledge_sources
     where tenant_id = ${tenantId}
       and kb_id = ${kbId}
       and source_id = ${sourceId}`);
  return deleted === 1;
}

/** Returns the id of the stored file that this one replaces, or null. */
export async function putFile(
  tx: Tx,
  file: Omit<KnowledgeFile, 'createdAt'>,
): Promise<{ replaced: string | null }> {
  const row = await tx.find<{ fileId: string; allow: string[] | null }>(sql`
    delete from knowledge_files
     where tenant_id = ${file.tenantId}
       and kb_id = ${file.kbId}
       and name = ${file.name}
    returning file_id as "fileId", allow`);
  await tx.run(sql`
    insert into knowledge_files (
      tenant_id, kb_id, file_id, name, media_type, size_bytes, sha256, origin, allow, created_by)
    values (${file.tenantId}, ${file.kbId}, ${file.fileId}, ${file.name}, ${file.mediaType}, ${file.sizeBytes},
            ${file.sha256}, ${file.origin}, ${row?.allow ?? null}::text[], ${file.createdBy})`);
  return { replaced: row?.fileId ?? null };
}

export function findKbFile(
  tx: Tx,
  { tenantId, kbId, name }: KbKey & { name: string },
): Promise<KnowledgeFile | null> {
  return tx.find<KnowledgeFile>(sql`
    select ${fileColumns}
      from knowledge_files f
     where f.tenant_id = ${tenantId}
       and f.kb_id = ${kbId}
       and f.name = ${name}`);
}

/** By name, which is the order and the cursor of the source `files`. */
export function listKbFiles(
  tx: Tx,
  { tenantId, kbId, afterName, limit }: KbKey & { afterName: string | null; limit: number },
): Promise<KnowledgeFile[]> {
  return tx.rows<KnowledgeFile>(sql`
    select ${fileColumns}
      from knowledge_files f
     where f.tenant_id = ${tenantId}
       and f.kb_id = ${kbId}
       and (${afterName}::text is null or f.name > ${afterName})
     order by f.name
     limit ${limit}`);
}

export async function countKbFiles(
  tx: Tx,
  { tenantId, kbId }: KbKey,
): Promise<{ count: number; sizeBytes: number }> {
  const row = await tx.find<{ count: number; sizeBytes: number }>(sql`
    select count(*) as count, coalesce(sum(size_bytes), 0)::bigint as "sizeBytes"
      from knowledge_files
     where tenant_id = ${tenantId}
       and kb_id = ${kbId}`);
  return row ?? { count: 0, sizeBytes: 0 };
}

/** The caller deletes the stored bytes. */
export function deleteKbFile(
  tx: Tx,
  { tenantId, kbId, name }: KbKey & { name: string },
): Promise<KnowledgeFile | null> {
  return tx.find<KnowledgeFile>(sql`
    delete from knowledge_files f
     where f.tenant_id = ${tenantId}
       and f.kb_id = ${kbId}
       and f.name = ${name}
    returning ${fileColumns}`);
}

/** As people have named them. */
export function listBaseNames(
  tx: Tx,
  { tenantId, subjectIds }: { tenantId: string; subjectIds: readonly string[] },
): Promise<{ subjectId: string; name: string }[]> {
  return tx.rows(sql`
    select n.kb_id::text as "subjectId", n.name as name
      from knowledge_bases n
     where n.tenant_id = ${tenantId}
       and n.kb_id = any(${subjectIds}::text[])
       and n.name is not null`);
}
