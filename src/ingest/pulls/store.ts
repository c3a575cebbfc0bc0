import type { Attention, Scope } from '../../kernel/stats/types.ts';
import type { Plan } from '../../kernel/tenancy/types.ts';
import type { Tx } from '../../lib/postgres/db.ts';
import { columnList, sql } from '../../lib/postgres/sql.ts';
import type { PullResult, Source, SourceKey, SourceSettings, TakenContent } from './types.ts';

const columns = columnList(
  `tenant_id source_id name workspace_id client_id platform place restate_days enabled cadence_hours cron time_zone
   jitter next_pull_at last_tick_at planned_for last_pull_at last_success_at last_result created_by created_at
   updated_at`,
  's.',
);

/** A `Source`, read from `upload_sources s` joined with `tenants t`. */
export const sourceColumns = sql`${columns}, t.plan`;

export interface NewSource extends SourceKey, SourceSettings {
  jitter: number;
  plan: Plan;
  createdBy: string;
  /** From now to the first pull. */
  firstPullInMs: number;
}

export async function insertSource(tx: Tx, source: NewSource): Promise<void> {
  const { place } = source;
  await tx.run(sql`
    insert into upload_sources (
      tenant_id, source_id, name, workspace_id, client_id, platform, kind, place, restate_days, enabled,
      cadence_hours, cron, time_zone, jitter, next_pull_at, planned_for, created_by)
    values (
      ${source.tenantId}, ${source.sourceId}, ${source.name}, ${source.workspaceId}, ${source.clientId},
      ${source.platform}, ${place.kind}, ${JSON.stringify(place)}, ${source.restateDays}, ${source.enabled},
      ${source.cadenceHours}, ${source.cron}, ${source.timeZone}, ${source.jitter},
      clock_timestamp() + ${Math.round(source.firstPullInMs)}::bigint * interval '1 millisecond', ${source.plan},
      ${source.createdBy})`);
}

export function findSource(tx: Tx, { tenantId, sourceId }: SourceKey): Promise<Source | null> {
  return tx.find<Source>(sql`
    select ${sourceColumns}
      from upload_sources s
      join tenants t on t.tenant_id = s.tenant_id
     where s.tenant_id = ${tenantId}
       and s.source_id = ${sourceId}`);
}

/** By name. */
export function listSources(
  tx: Tx,
  { tenantId, after, limit }: { tenantId: string; after: string | null; limit: number },
): Promise<Source[]> {
  return tx.rows<Source>(sql`
    select ${sourceColumns}
      from upload_sources s
      join tenants t on t.tenant_id = s.tenant_id
     where s.tenant_id = ${tenantId}
       and (${after}::text is null or s.name > ${after})
     order by s.name
     limit ${limit}`);
}

/** Counts up to the limit. */
export async function countSources(
  tx: Tx,
  { tenantId, limit }: { tenantId: string; limit: number },
): Promise<number> {
  const row = await tx.find<{ count: number }>(sql`
    select count(*) as count
      from (select from upload_sources where tenant_id = ${tenantId} limit ${limit}) counted`);
  return row?.count ?? 0;
}

/** Another place has other contents, so what is known of the old one is forgotten. */
export async function updateSource(
  tx: Tx,
  source: SourceKey & SourceSettings,
  { isMoved }: { isMoved: boolean },
): Promise<void> {
  await tx.run(sql`
    update upload_sources
       set name = ${source.name},
           client_id = ${source.clientId},
           kind = ${source.place.kind},
           place = ${JSON.stringify(source.place)},
           restate_days = ${source.restateDays},
           enabled = ${source.enabled},
           cadence_hours = ${source.cadenceHours},
           cron = ${source.cron},
           time_zone = ${source.timeZone},
           updated_at = clock_timestamp()
     where tenant_id = ${source.tenantId}
       and source_id = ${source.sourceId}`);
  if (isMoved) await forgetContents(tx, source);
}

async function forgetContents(tx: Tx, { tenantId, sourceId }: SourceKey): Promise<void> {
  await tx.run(sql`
    delete from upload_source_contents
     where tenant_id = ${tenantId}
       and source_id = ${sourceId}`);
}

export async function deleteSource(tx: Tx, { tenantId, sourceId }: SourceKey): Promise<void> {
  await tx.run(sql`
    delete from upload_sources
     where tenant_id = ${tenantId}
       and source_id = ${sourceId}`);
}

/** Locks it until the end of the transaction. */
export async function lockSource(tx: Tx, { tenantId, sourceId }: SourceKey): Promise<void> {
  await tx.run(sql`
    select 1
      from upload_sources
     where tenant_id = ${tenantId}
       and source_id = ${sourceId}
       for no key update`);
}

export async function readPlan(tx: Tx, tenantId: string): Promise<Plan> {
  const row = await tx.find<{ plan: Plan }>(sql`select plan from tenants where tenant_id = ${tenantId}`);
  return row?.plan ?? 'free';
}

export async function saveResult(
  tx: Tx,
  { tenantId, sourceId }: SourceKey,
  { result, isGood }: { result: PullResult; isGood: boolean },
): Promise<void> {
  await tx.run(sql`
    update upload_sources
       set last_result = ${JSON.stringify(result)},
           last_pull_at = clock_timestamp(),
           last_success_at = case when ${isGood}::boolean then clock_timestamp() else last_success_at end
     where tenant_id = ${tenantId}
       and source_id = ${sourceId}`);
}

/** What these paths held when they were pulled last. */
export function listContents(
  tx: Tx,
  { tenantId, sourceId, paths }: SourceKey & { paths: readonly string[] },
): Promise<TakenContent[]> {
  return tx.rows<TakenContent>(sql`
    select c.path, c.size_bytes as "sizeBytes", c.version, c.sha256, c.job_id as "jobId", c.upload_id as "uploadId",
           c.reason
      from upload_source_contents c
     where c.tenant_id = ${tenantId}
       and c.source_id = ${sourceId}
       and c.path = any(${paths}::text[])`);
}

export async function putContent(
  tx: Tx,
  { tenantId, sourceId }: SourceKey,
  content: TakenContent,
): Promise<void> {
  await tx.run(sql`
    insert into upload_source_contents (
      tenant_id, source_id, path, size_bytes, version, sha256, job_id, upload_id, reason)
    values (
      ${tenantId}, ${sourceId}, ${content.path}, ${content.sizeBytes}, ${content.version}, ${content.sha256},
      ${content.jobId}, ${content.uploadId}, ${content.reason})
    on conflict (tenant_id, source_id, path) do update
       set size_bytes = excluded.size_bytes,
           version = excluded.version,
           sha256 = excluded.sha256,
           job_id = excluded.job_id,
           upload_id = excluded.upload_id,
           reason = excluded.reason,
           taken_at = excluded.taken_at`);
}

export interface LastPull {
  sourceId: string;
  jobId: string;
  status: string;
  errorCode: string | null;
  errorMessage: string | null;
  nextRetryAt: Date | null;
}

/** The last job of each of these sources, whatever its status. */
export function listLastPulls(
  tx: Tx,
  { tenantId, sourceIds }: { tenantId: string; sourceIds: readonly string[] },
): Promise<LastPull[]> {
  return tx.rows<LastPull>(sql`
    select distinct on (j.subject_id) j.subject_id as "sourceId", j.job_id as "jobId", j.status,
           j.error_code as "errorCode", j.error_message as "errorMessage", j.next_retry_at as "nextRetryAt"
      from ingestion_jobs j
     where j.tenant_id = ${tenantId}
       and j.pipeline = 'pulls'
       and j.subject_id = any(${sourceIds}::text[])
     order by j.subject_id, j.job_id desc`);
}

/** Sources that are on and whose newest pull failed, by error code. */
export function listSourceAttention(tx: Tx, { tenantId, ownerId }: Scope): Promise<Attention[]> {
  return tx.rows<Attention>(sql`
    select 'sources_failing' as kind, j.error_code as code, count(*) as count,
           min(coalesce(j.finished_at, j.updated_at)) as "oldestAt",
           case when count(*) = 1 then min(s.subject_id) end as "subjectId"
      from (select tenant_id, source_id::text as subject_id
              from upload_sources
             where tenant_id = ${tenantId}
               and enabled
            -- Kept apart: under a policy, a cast of it in a condition would reach no index.
            offset 0) s
     cross join lateral (
        select status, error_code, finished_at, updated_at, user_id
          from ingestion_jobs
         where tenant_id = s.tenant_id
           and pipeline = 'pulls'
           and subject_id = s.subject_id
         order by job_id desc
         limit 1) j
     where j.status in ('failed', 'dead_letter')
       and (${ownerId ?? null}::text is null or j.user_id = ${ownerId ?? null})
     group by j.error_code`);
}

/** As people have named them. */
export function listSourceNames(
  tx: Tx,
  { tenantId, subjectIds }: { tenantId: string; subjectIds: readonly string[] },
): Promise<{ subjectId: string; name: string }[]> {
  return tx.rows(sql`
    select s.source_id::text as "subjectId", s.name
      from upload_sources s
     where s.tenant_id = ${tenantId}
       and s.source_id::text = any(${subjectIds}::text[])`);
}
