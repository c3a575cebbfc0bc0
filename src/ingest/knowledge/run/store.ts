import type { Job, JobStatus } from '../../../kernel/jobs/types.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { type Sql, sql } from '../../../lib/postgres/sql.ts';
import type { RevisionKey } from '../index/chunk-store.ts';
import type { Generation, GenerationKey, KbKey, KnowledgeBase, KnowledgeSource } from '../types.ts';

/** The run before this one, and the sources that it saw completely. */
export function findPredecessor(
  tx: Tx,
  { tenantId, kbId, jobId }: KbKey & { jobId: string },
): Promise<{ status: JobStatus; complete: string[] } | null> {
  return tx.find(sql`
    select j.status, coalesce(j.checkpoint -> 'complete', '[]') as complete
      from ingestion_jobs j
     where j.tenant_id = ${tenantId}
       and j.subject_id = ${kbId}
       and j.pipeline = 'knowledge'
       and j.job_id < ${jobId}
     order by j.job_id desc
     limit 1`);
}

export interface ReferenceOpening extends KnowledgeBase {
  /** Without retired ones. */
  generations: Pick<Generation, 'generation' | 'fingerprint' | 'state'>[];
  /** Of the source for references; null: none was ever handed over to the knowledge base. */
  sourceId: string | null;
  sourceSettings: KnowledgeSource['settings'];
  sourceCreatedAt: Date;
}

export function openingStatement({ tenantId, kbId }: KbKey): Sql {
  return sql`
    select ${tenantId} as "tenantId", ${kbId} as "kbId", o.name, o.chunker, o.embedder, o.generation,
           (select b.language
              from knowledge_bases b
             where b.tenant_id = ${tenantId}
               and b.kb_id = ${kbId}) as language,
           o.created_by as "createdBy", o.created_at as "createdAt", o.updated_at as "updatedAt", o.generations,
           o.source_id as "sourceId", o.source_settings as "sourceSettings",
           o.source_created_at as "sourceCreatedAt"
      from open_reference_run(${tenantId}, ${kbId}) o`;
}

/** Drops what cancel would restore of these documents; returns the revisions that they no longer use. */
export function adoptReferences(
  tx: Tx,
  { tenantId, kbId, jobId, documentIds }: KbKey & { jobId: string; documentIds: readonly string[] },
): Promise<RevisionKey[]> {
  return tx.rows<RevisionKey>(sql`
    select r.document_id as "documentId", r.revision
      from adopt_reference_documents(${tenantId}, ${kbId}, ${jobId}, ${documentIds}::uuid[]) r`);
}

/** Other jobs that may still write to this knowledge base. */
export async function listBusyJobs(
  tx: Tx,
  { tenantId, kbId, exceptJobId }: KbKey & { exceptJobId: string },
): Promise<string[]> {
  const rows = await tx.rows<{ jobId: string }>(sql`
    select j.job_id as "jobId"
      from ingestion_jobs j
     where j.tenant_id = ${tenantId}
       and j.pipeline = 'knowledge'
       and (j.status in ('queued', 'running', 'paused') or j.cleanup_open)
       and j.payload ->> 'kbId' = ${kbId}
       and j.job_id <> ${exceptJobId}
     union
    select j.job_id
      from ingestion_jobs j
     where j.tenant_id = ${tenantId}
       and j.pipeline = 'knowledge'
       and j.status = 'failed'
       and j.payload ->> 'kbId' = ${kbId}
       and j.job_id <> ${exceptJobId}`);
  return rows.map(({ jobId }) => jobId);
}

/** Stores why the job is paused; null clears it. The transaction of the slice has locked the row. */
export async function saveReason(
  tx: Tx,
  { tenantId, jobId }: Pick<Job, 'tenantId' | 'jobId'>,
  reason: { code: string; message: string } | null,
): Promise<void> {
  await tx.run(sql`
    update ingestion_jobs
       set error_code = ${reason?.code ?? null},
           error_message = ${reason?.message ?? null}
     where tenant_id = ${tenantId}
       and job_id = ${jobId}`);
}

/**
 * Estimates how many documents a run will find: files are counted, each inline text is one, and other sources count as
 * many as last time. Null if a source was never read.
 */
export async function countExpected(
  tx: Tx,
  { tenantId, kbId, generation }: GenerationKey,
): Promise<number | null> {
  const rows = await tx.rows<{ type: string; known: number; files: number }>(sql`
    select s.type,
           case when s.type in ('files', 'markdown', 'text', 'html', 'youtube') then 0
                else (select count(*)
                        from knowledge_documents d
                       where d.tenant_id = s.tenant_id
                         and d.kb_id = s.kb_id
                         and d.generation = ${generation}
                         and d.source_id = s.source_id) end as known,
           case when s.type = 'files'
                then (select count(*)
                        from knowledge_files f
                       where f.tenant_id = s.tenant_id
                         and f.kb_id = s.kb_id) else 0 end as files
      from knowledge_sources s
     where s.tenant_id = ${tenantId}
       and s.kb_id = ${kbId}`);
  let expected = 0;
  for (const { type, known, files } of rows) {
    if (type === 'files') expected += files;
    else if (['markdown', 'text', 'html', 'youtube'].includes(type)) expected += 1;
    else if (known === 0) return null;
    else expected += known;
  }
  return expected;
}
