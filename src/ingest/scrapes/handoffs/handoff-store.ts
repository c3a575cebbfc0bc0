import type { Tx } from '../../../lib/postgres/db.ts';
import { columnList, sql, trustedSql } from '../../../lib/postgres/sql.ts';
import { toSnakeCase } from '../../../lib/snake-case.ts';
import type { Handoff, HandoffReason, HandoffStatus, OpenHandoff, SourceKey } from '../types.ts';

/** A `Handoff`, from `ingestion_handoffs h`. */
const handoffColumns = trustedSql(`
  h.tenant_id as "tenantId", h.handoff_id as "handoffId", h.source, h.kb_id as "kbId",
  h.reference_id as "referenceId", h.payload_hash as "payloadHash", h.status, h.reason_code as "reasonCode",
  h.reason_text as "reasonText", h.attempts, h.job_id as "jobId", h.scrape_run_id as "scrapeRunId",
  h.created_by as "createdBy", h.created_at as "createdAt", h.updated_at as "updatedAt"`);

/** An `OpenHandoff`, from `ingestion_handoffs h`. */
const openColumns = columnList('handoff_id reference_id scrape_run_id kb_id created_by', 'h.');

/** Whether the optional feature is installed. */
export async function hasHandoffs(tx: Tx): Promise<boolean> {
  const row = await tx.find<{ isThere: boolean }>(
    sql`select to_regclass('public.ingestion_handoffs') is not null as "isThere"`,
  );
  return row?.isThere ?? false;
}

export interface HandoffWish {
  handoffId: string;
  referenceId: string;
  payloadHash: string;
  /** Open it even if the same payload was ingested before: it may have been removed from the index since. */
  isForced: boolean;
  /** Null: it waits for a job. Else the transaction creates this one, at the first attempt. */
  jobId: string | null;
}

/**
 * Opens a hand-off for each reference whose latest one has failed, or is about another payload or knowledge base. A
 * knowledge base that was deleted and created again is another one. The hand-off of a former payload is opened again.
 * The caller has locked the references. Returns hand-offs that wait for a job; `isNew` is false if another sync opened
 * the hand-off and has not created its job yet. All other references are skipped.
 */
export function openHandoffs(
  tx: Tx,
  place: SourceKey & Pick<OpenHandoff, 'kbId' | 'scrapeRunId' | 'createdBy'> & { kbMadeAt: Date | null },
  wishes: readonly HandoffWish[],
): Promise<(OpenHandoff & { isNew: boolean; jobId: string | null })[]> {
  const { tenantId, source, kbId, kbMadeAt, scrapeRunId, createdBy } = place;
  return tx.rows(sql`
    select o.handoff_id as "handoffId", o.reference_id as "referenceId", o.scrape_run_id as "scrapeRunId",
           o.kb_id as "kbId", o.created_by as "createdBy", o.is_new as "isNew", o.job_id as "jobId"
      from open_ingestion_handoffs(
        ${tenantId}, ${source}, ${kbId}, ${kbMadeAt}, ${scrapeRunId}, ${createdBy},
        ${JSON.stringify(wishes.map(toSnakeCase))}) o`);
}

/**
 * Locks the references of these hand-offs, in the order in which syncs lock them. Returns the hand-offs that still wait
 * for a job.
 */
export async function lockOpenHandoffs(
  tx: Tx,
  { tenantId, handoffIds }: { tenantId: string; handoffIds: readonly string[] },
): Promise<OpenHandoff[]> {
  await tx.run(sql`
    select 1
      from unnest(${handoffIds}::uuid[]) as i (handoff_id)
      join ingestion_handoffs h on h.tenant_id = ${tenantId} and h.handoff_id = i.handoff_id
      join scrape_references r on r.tenant_id = ${tenantId} and r.reference_id = h.reference_id
     order by r.external_id
       for update of r`);
  return tx.rows<OpenHandoff>(sql`
    select ${openColumns}
      from unnest(${handoffIds}::uuid[]) as i (handoff_id)
      join ingestion_handoffs h on h.tenant_id = ${tenantId} and h.handoff_id = i.handoff_id
     where h.status = 'queued'
       and h.reason_code = 'queued_from_scrape'
       and h.job_id is null`);
}

export interface BusyReference {
  referenceId: string;
  /** Its job has failed and waits for the next attempt. */
  isWaiting: boolean;
}

/**
 * Lists references that have an unfinished job. The jobs cannot end before this transaction does, so the transaction
 * that ends a job sees the hand-offs that wait for it.
 */
export function lockBusyReferences(
  tx: Tx,
  { tenantId, referenceIds }: { tenantId: string; referenceIds: readonly string[] },
): Promise<BusyReference[]> {
  return tx.rows<BusyReference>(sql`
    select j.subject_id as "referenceId", j.status = 'failed' as "isWaiting"
      from unnest(${referenceIds}::text[]) as i (reference_id)
      join ingestion_jobs j
        on j.tenant_id = ${tenantId} and j.pipeline = 'knowledge' and j.subject_id = i.reference_id
     where j.status in ('queued', 'running', 'paused', 'failed')
        or j.cleanup_open
     order by i.reference_id
       for share of j`);
}

/** Whether any of these references has an unfinished job, or a hand-off that waits for one. Locks nothing. */
export async function areBusy(
  tx: Tx,
  { tenantId, referenceIds }: { tenantId: string; referenceIds: readonly string[] },
): Promise<boolean> {
  const row = await tx.find<{ areBusy: boolean }>(sql`
    select exists (
             select
               from unnest(${referenceIds}::text[]) as i (reference_id)
               join ingestion_jobs j
                 on j.tenant_id = ${tenantId} and j.pipeline = 'knowledge' and j.subject_id = i.reference_id
              where j.status in ('queued', 'running', 'paused', 'failed')
                 or j.cleanup_open)
        or exists (
             select
               from unnest(${referenceIds}::uuid[]) as i (reference_id)
               join ingestion_handoffs h on h.tenant_id = ${tenantId} and h.reference_id = i.reference_id
              where h.status = 'queued'
                and h.job_id is null) as "areBusy"`);
  return row?.areBusy ?? false;
}

/** Stores the jobs of hand-offs. Older payloads of the same reference that still wait end with the same job. */
export async function saveJobs(
  tx: Tx,
  { tenantId, attempts }: { tenantId: string; attempts: number },
  made: readonly { handoffId: string; referenceId: string; jobId: string }[],
): Promise<void> {
  await tx.run(sql`
    update ingestion_handoffs h
       set job_id = m.job_id,
           reason_code = 'ingestion_job_queued',
           attempts = case when h.handoff_id = m.handoff_id then ${attempts} else h.attempts end
      from unnest(${made.map(({ handoffId }) => handoffId)}::uuid[],
                  ${made.map(({ referenceId }) => referenceId)}::uuid[],
                  ${made.map(({ jobId }) => jobId)}::uuid[]) as m (handoff_id, reference_id, job_id)
     where h.tenant_id = ${tenantId}
       and h.reference_id = m.reference_id
       and h.status = 'queued'
       and h.job_id is null`);
}

export async function saveWaiting(
  tx: Tx,
  { tenantId, attempts, handoffIds }: { tenantId: string; attempts: number; handoffIds: readonly string[] },
): Promise<void> {
  await tx.run(sql`
    update ingestion_handoffs h
       set reason_code = 'ingestion_job_already_active',
           reason_text = 'Another payload of the reference is being ingested; this one follows afterwards',
           attempts = ${attempts}
      from unnest(${handoffIds}::uuid[]) as i (handoff_id)
     where h.tenant_id = ${tenantId}
       and h.handoff_id = i.handoff_id`);
}

/** Fails those of the hand-offs that still wait for a job; returns how many. */
export async function failHandoffs(
  tx: Tx,
  failure: {
    tenantId: string;
    attempts: number;
    handoffIds: readonly string[];
    reasonCode: Extract<HandoffReason, 'retry_exhausted' | 'not_transient'>;
    reasonText: string;
  },
): Promise<number> {
  return tx.run(sql`
    update ingestion_handoffs h
       set status = 'failed',
           reason_code = ${failure.reasonCode},
           reason_text = ${failure.reasonText},
           attempts = ${failure.attempts}
      from unnest(${failure.handoffIds}::uuid[]) as i (handoff_id)
     where h.tenant_id = ${failure.tenantId}
       and h.handoff_id = i.handoff_id
       and h.status = 'queued'
       and h.reason_code = 'queued_from_scrape'`);
}

export interface HandoffFilter extends SourceKey {
  status?: HandoffStatus | undefined;
  scrapeRunId?: string | undefined;
}

/** Newest first: ids are ordered by time. */
export function listHandoffs(
  tx: Tx,
  filter: HandoffFilter & { after: string | null; offset: number; limit: number },
): Promise<Handoff[]> {
  return tx.rows<Handoff>(sql`
    select ${handoffColumns}
      from ingestion_handoffs h
     where h.tenant_id = ${filter.tenantId}
       and h.source = ${filter.source}
       and (${filter.status ?? null}::text is null or h.status = ${filter.status ?? null})
       and (${filter.scrapeRunId ?? null}::uuid is null or h.scrape_run_id = ${filter.scrapeRunId ?? null}::uuid)
       and (${filter.after}::uuid is null or h.handoff_id < ${filter.after}::uuid)
     order by h.handoff_id desc
     limit ${filter.limit}
    offset ${filter.offset}`);
}

export async function countHandoffs(tx: Tx, filter: HandoffFilter): Promise<Record<HandoffStatus, number>> {
  const rows = await tx.rows<{ status: HandoffStatus; count: number }>(sql`
    select h.status, count(*) as count
      from ingestion_handoffs h
     where h.tenant_id = ${filter.tenantId}
       and h.source = ${filter.source}
       and (${filter.status ?? null}::text is null or h.status = ${filter.status ?? null})
       and (${filter.scrapeRunId ?? null}::uuid is null or h.scrape_run_id = ${filter.scrapeRunId ?? null}::uuid)
     group by h.status`);
  const counts = { queued: 0, running: 0, completed: 0, failed: 0 };
  for (const { status, count } of rows) counts[status] = count;
  return counts;
}

/** Hand-offs of all tenants whose process died before it created their job. */
export function listLeftHandoffs(
  tx: Tx,
  { olderThanMs, limit }: { olderThanMs: number; limit: number },
): Promise<(OpenHandoff & { tenantId: string })[]> {
  return tx.rows(sql`
    select h.tenant_id as "tenantId", ${openColumns}
      from ingestion_handoffs h
     where h.job_id is null
       and h.status = 'queued'
       and h.reason_code = 'queued_from_scrape'
       and h.updated_at < clock_timestamp() - ${olderThanMs} * interval '1 millisecond'
     order by h.tenant_id, h.kb_id
     limit ${limit}`);
}

export async function deleteHandoffs(
  tx: Tx,
  { tenantId, source, limit }: SourceKey & { limit: number },
): Promise<number> {
  return tx.run(sql`
    delete from ingestion_handoffs
     where tenant_id = ${tenantId}
       and handoff_id in (
         select handoff_id
           from ingestion_handoffs
          where tenant_id = ${tenantId}
            and source = ${source}
          limit ${limit})`);
}

/**
 * Deletes old hand-offs that ended and are not the latest of their reference; a former payload that returns is handed
 * over again.
 */
export function purgeHandoffs(tx: Tx, { days, limit }: { days: number; limit: number }): Promise<number> {
  return tx.run(sql`
    delete from ingestion_handoffs d
     using (
       select h.tenant_id, h.handoff_id
         from ingestion_handoffs h
         join tenants t on t.tenant_id = h.tenant_id
        where h.status in ('completed', 'failed')
          and h.updated_at < clock_timestamp()
              - coalesce((t.limits ->> 'job_retention_days')::integer, ${days}) * interval '1 day'
          and exists (
            select
              from ingestion_handoffs n
             where n.tenant_id = h.tenant_id
               and n.reference_id = h.reference_id
               and n.turn > h.turn)
        limit ${limit}
          for update of h skip locked) old
     where d.tenant_id = old.tenant_id
       and d.handoff_id = old.handoff_id`);
}
