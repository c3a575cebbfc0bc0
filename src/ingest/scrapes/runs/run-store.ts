import type { FoundPage } from '../../../kernel/crawl/types.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { sql, trustedSql } from '../../../lib/postgres/sql.ts';
import type { RunCounts, RunKey, ScrapeMode, ScrapeRun, SourceKey, SourcePage } from '../types.ts';

/** A `ScrapeRun`, from `scrape_runs u`. */
const runColumns = trustedSql(`
  u.tenant_id as "tenantId", u.scrape_run_id as "scrapeRunId", u.source, u.mode, u.status, u.job_id as "jobId",
  u.references_persisted as persisted, u.references_created as created, u.references_changed as changed,
  u.pages_failed as "pagesFailed", u.handoff_queued_count as queued, u.handoff_completed_count as completed,
  u.handoff_failed_count as failed, u.handoff_skipped_count as skipped, u.handoff_notice as "handoffNotice",
  u.is_complete as "isComplete", u.delay_ms as "delayMs", u.paused_ms as "pausedMs",
  u.error_code as "errorCode", u.error_text as "errorText",
  u.created_by as "createdBy", u.started_at as "startedAt", u.finished_at as "finishedAt",
  u.updated_at as "updatedAt"`);

export interface NewRun extends SourceKey, RunKey {
  mode: ScrapeMode;
  jobId: string | null;
  createdBy: string;
}

export async function insertRun(tx: Tx, run: NewRun): Promise<ScrapeRun> {
  const row = await tx.find<ScrapeRun>(sql`
    insert into scrape_runs as u (tenant_id, scrape_run_id, source, mode, job_id, created_by)
    values (${run.tenantId}, ${run.scrapeRunId}, ${run.source}, ${run.mode}, ${run.jobId}, ${run.createdBy})
    returning ${runColumns}`);
  if (!row) throw new Error(`The row of run ${run.scrapeRunId} was not returned by its own insert`);
  return row;
}

/** A push that begins and ends with this transaction. */
export async function insertEndedRun(
  tx: Tx,
  run: Omit<NewRun, 'jobId' | 'mode'>,
  counts: RunCounts,
): Promise<ScrapeRun> {
  const row = await tx.find<ScrapeRun>(sql`
    insert into scrape_runs as u (
      tenant_id, scrape_run_id, source, mode, status, references_persisted, references_created, references_changed,
      handoff_queued_count, handoff_skipped_count, created_by, started_at, finished_at)
    values (
      ${run.tenantId}, ${run.scrapeRunId}, ${run.source}, 'push', 'completed', ${counts.persisted}, ${counts.created},
      ${counts.changed}, ${counts.queued}, ${counts.skipped}, ${run.createdBy}, transaction_timestamp(),
      clock_timestamp())
    returning ${runColumns}`);
  if (!row) throw new Error(`The row of run ${run.scrapeRunId} was not returned by its own insert`);
  return row;
}

export async function saveRunCounts(
  tx: Tx,
  { tenantId, scrapeRunId }: RunKey,
  { counts, handoffNotice }: { counts: RunCounts; handoffNotice: string | null },
): Promise<void> {
  await tx.run(sql`
    update scrape_runs
       set references_persisted = ${counts.persisted},
           references_created = ${counts.created},
           references_changed = ${counts.changed},
           pages_failed = ${counts.pagesFailed},
           handoff_queued_count = ${counts.queued},
           handoff_completed_count = ${counts.completed},
           handoff_failed_count = ${counts.failed},
           handoff_skipped_count = ${counts.skipped},
           handoff_notice = ${handoffNotice},
           updated_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and scrape_run_id = ${scrapeRunId}`);
}

export interface RunEnd {
  status: 'completed' | 'failed';
  isComplete?: boolean | null;
  /** Of a crawl that was not complete: the pages that it missed, if it knows them all. */
  missed?: readonly FoundPage[] | null;
  errorCode?: string | null;
  errorText?: string | null;
}

/** Null if the run has already ended. */
export function finishRun(
  tx: Tx,
  { tenantId, scrapeRunId }: RunKey,
  { status, isComplete = null, missed = null, errorCode = null, errorText = null }: RunEnd,
): Promise<ScrapeRun | null> {
  return tx.find<ScrapeRun>(sql`
    update scrape_runs u
       set status = ${status},
           is_complete = ${isComplete},
           missed_pages = ${missed === null ? null : JSON.stringify(missed)}::jsonb,
           error_code = ${errorCode},
           error_text = ${errorText},
           finished_at = clock_timestamp(),
           updated_at = clock_timestamp()
     where u.tenant_id = ${tenantId}
       and u.scrape_run_id = ${scrapeRunId}
       and u.status = 'running'
    returning ${runColumns}`);
}

/** Reopens a failed run whose job was requeued. */
export async function reopenRun(
  tx: Tx,
  { tenantId, scrapeRunId, jobId }: RunKey & { jobId: string },
): Promise<void> {
  await tx.run(sql`
    update scrape_runs
       set status = 'running',
           job_id = ${jobId},
           error_code = null,
           error_text = null,
           finished_at = null,
           updated_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and scrape_run_id = ${scrapeRunId}
       and status = 'failed'`);
}

export function findRun(
  tx: Tx,
  { tenantId, source, scrapeRunId }: SourceKey & RunKey,
): Promise<ScrapeRun | null> {
  return tx.find<ScrapeRun>(sql`
    select ${runColumns}
      from scrape_runs u
     where u.tenant_id = ${tenantId}
       and u.source = ${source}
       and u.scrape_run_id = ${scrapeRunId}`);
}

/** Newest first: run ids are ordered by time. */
export function listRuns(tx: Tx, { tenantId, source, after, limit }: SourcePage): Promise<ScrapeRun[]> {
  return tx.rows<ScrapeRun>(sql`
    select ${runColumns}
      from scrape_runs u
     where u.tenant_id = ${tenantId}
       and u.source = ${source}
       and (${after}::uuid is null or u.scrape_run_id < ${after}::uuid)
     order by u.scrape_run_id desc
     limit ${limit}`);
}

/** The last run of each of these sources. */
export function listLastRuns(
  tx: Tx,
  { tenantId, sources }: { tenantId: string; sources: readonly string[] },
): Promise<ScrapeRun[]> {
  return tx.rows<ScrapeRun>(sql`
    select ${runColumns}
      from unnest(${sources}::text[]) wanted,
           lateral (
             select *
               from scrape_runs l
              where l.tenant_id = ${tenantId}
                and l.source = wanted
              order by l.scrape_run_id desc
              limit 1) u`);
}

/** What the previous crawl saw: all pages, or all but those that it names. */
export interface PreviousCrawl {
  wasComplete: boolean;
  /** Null: it may have missed pages that nobody knows of. */
  missed: FoundPage[] | null;
}

export async function readPreviousCrawl(
  tx: Tx,
  { tenantId, source, scrapeRunId }: SourceKey & RunKey,
): Promise<PreviousCrawl> {
  const row = await tx.find<PreviousCrawl>(sql`
    select u.status = 'completed' and coalesce(u.is_complete, false) as "wasComplete",
           case u.status when 'completed' then u.missed_pages end as missed
      from scrape_runs u
     where u.tenant_id = ${tenantId}
       and u.source = ${source}
       and u.scrape_run_id < ${scrapeRunId}
     order by u.scrape_run_id desc
     limit 1`);
  return row ?? { wasComplete: false, missed: null };
}

/** How politely the crawl goes about the site, as far as it is known. */
export async function savePoliteness(
  tx: Tx,
  { tenantId, scrapeRunId }: RunKey,
  { delayMs, pausedMs }: { delayMs: number; pausedMs: number },
): Promise<void> {
  await tx.run(sql`
    update scrape_runs
       set delay_ms = ${delayMs},
           paused_ms = ${pausedMs}
     where tenant_id = ${tenantId}
       and scrape_run_id = ${scrapeRunId}`);
}

/** Fails runs that no process will end: pushes whose process died, and crawls whose job has ended. */
export async function failAbandonedRuns(
  tx: Tx,
  { olderThanMs, limit }: { olderThanMs: number; limit: number },
): Promise<number> {
  return tx.run(sql`
    update scrape_runs u
       set status = 'failed',
           error_code = 'scrape_run_abandoned',
           error_text = 'The process that worked on the run ended before the run did; what it had stored is kept',
           finished_at = clock_timestamp(),
           updated_at = clock_timestamp()
      from (
        select o.tenant_id, o.scrape_run_id
          from scrape_runs o
         where o.status = 'running'
           and o.updated_at < clock_timestamp() - ${olderThanMs} * interval '1 millisecond'
           and not exists (
             select from ingestion_jobs j
              where j.tenant_id = o.tenant_id
                and j.job_id = o.job_id
                and (j.status in ('queued', 'running', 'paused', 'failed') or j.cleanup_open))
         limit ${limit}
           for update skip locked) old
     where u.tenant_id = old.tenant_id
       and u.scrape_run_id = old.scrape_run_id`);
}

/** Deletes runs that ended longer ago than their tenant keeps jobs. */
export function purgeRuns(tx: Tx, { days, limit }: { days: number; limit: number }): Promise<number> {
  return tx.run(sql`
    delete from scrape_runs d
     using (
       select u.tenant_id, u.scrape_run_id
         from scrape_runs u
         join tenants t on t.tenant_id = u.tenant_id
        where u.finished_at < clock_timestamp()
              - coalesce((t.limits ->> 'job_retention_days')::integer, ${days}) * interval '1 day'
        limit ${limit}
          for update of u skip locked) old
     where d.tenant_id = old.tenant_id
       and d.scrape_run_id = old.scrape_run_id`);
}
