import type { JobStatus } from '../../../kernel/jobs/types.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import { fileColumns } from '../store.ts';
import type { KbKey, KnowledgeFile, KnowledgeSource } from '../types.ts';

/** The time of the database, which leases and heartbeats use. */
export async function readClock(tx: Tx): Promise<Date> {
  const row = await tx.find<{ now: Date }>(sql`select clock_timestamp() as now`);
  if (!row) throw new Error('The database did not return its time');
  return row.now;
}

export interface LastRun {
  kbId: string;
  jobId: string;
  status: JobStatus;
  cleanupOpen: boolean;
}

/** The last run of each of these knowledge bases in any state; knowledge bases that never ran are left out. */
export function listLastRuns(
  tx: Tx,
  { tenantId, kbIds }: { tenantId: string; kbIds: readonly string[] },
): Promise<LastRun[]> {
  return tx.rows<LastRun>(sql`
    select last.subject_id as "kbId", last.job_id as "jobId", last.status, last.cleanup_open as "cleanupOpen"
      from unnest(${kbIds}::text[]) wanted,
           lateral (
             select j.subject_id, j.job_id, j.status, j.cleanup_open
               from ingestion_jobs j
              where j.tenant_id = ${tenantId}
                and j.pipeline = 'knowledge'
                and j.subject_id = wanted
              order by j.job_id desc
              limit 1) last`);
}

/** How many documents a run is likely to find: files, and what other sources had before. */
export async function countExpected(tx: Tx, { tenantId, kbId }: KbKey): Promise<number> {
  const row = await tx.find<{ count: number }>(sql`
    select (select count(*)
              from knowledge_files f
             where f.tenant_id = ${tenantId}
               and f.kb_id = ${kbId})
         + (select count(*)
              from knowledge_documents d
              join knowledge_bases b on b.tenant_id = d.tenant_id and b.kb_id = d.kb_id
              join knowledge_sources s on s.tenant_id = d.tenant_id and s.kb_id = d.kb_id and s.source_id = d.source_id
             where d.tenant_id = ${tenantId}
               and d.kb_id = ${kbId}
               and d.generation = b.generation
               and d.state <> 'gone'
               and s.type <> 'files') as count`);
  return row?.count ?? 0;
}

/** The generation whose documents are listed: the one that searches use, or the first while it is being built. */
export async function findShownGeneration(tx: Tx, { tenantId, kbId }: KbKey): Promise<number> {
  const row = await tx.find<{ generation: number }>(sql`
    select g.generation
      from knowledge_generations g
     where g.tenant_id = ${tenantId}
       and g.kb_id = ${kbId}
       and g.state in ('serving', 'building')
     order by g.generation
     limit 1`);
  return row?.generation ?? 0;
}

export function findFileById(
  tx: Tx,
  { tenantId, kbId, fileId }: KbKey & { fileId: string },
): Promise<KnowledgeFile | null> {
  return tx.find<KnowledgeFile>(sql`
    select ${fileColumns}
      from knowledge_files f
     where f.tenant_id = ${tenantId}
       and f.kb_id = ${kbId}
       and f.file_id = ${fileId}`);
}

/** The documents that runs have made from a file, in all generations. */
export function listFileDocuments(
  tx: Tx,
  { tenantId, kbId, uri }: KbKey & { uri: string },
): Promise<{ documentId: string; generation: number }[]> {
  return tx.rows(sql`
    select d.document_id as "documentId", d.generation
      from knowledge_generations g
      join knowledge_sources s
        on s.tenant_id = g.tenant_id and s.kb_id = g.kb_id and s.type = 'files'
      join knowledge_documents d
        on d.tenant_id = g.tenant_id and d.kb_id = g.kb_id and d.generation = g.generation
       and d.source_id = s.source_id and d.uri_key = sha256(convert_to(${uri}, 'UTF8'))
     where g.tenant_id = ${tenantId}
       and g.kb_id = ${kbId}
     order by d.generation
     limit 100`);
}

/** Oldest first. Of an inline text only the length is returned. */
export function listSourceHeads(
  tx: Tx,
  { tenantId, kbId, after, limit }: KbKey & { after: string | null; limit: number },
): Promise<KnowledgeSource[]> {
  return tx.rows<KnowledgeSource>(sql`
    select s.tenant_id as "tenantId", s.kb_id as "kbId", s.source_id as "sourceId", s.type,
           s.created_at as "createdAt",
           case when s.settings ? 'content'
             then s.settings - 'content'
               || jsonb_build_object('content_characters', length(s.settings ->> 'content'))
             else s.settings end as settings
      from knowledge_sources s
     where s.tenant_id = ${tenantId}
       and s.kb_id = ${kbId}
       and (${after}::uuid is null or s.source_id > ${after}::uuid)
     order by s.source_id
     limit ${limit}`);
}

export async function countSources(tx: Tx, { tenantId, kbId }: KbKey): Promise<number> {
  const row = await tx.find<{ count: number }>(sql`
    select count(*) as count
      from knowledge_sources
     where tenant_id = ${tenantId}
       and kb_id = ${kbId}`);
  return row?.count ?? 0;
}
