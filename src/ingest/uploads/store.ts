import { isId } from '../../lib/ids.ts';
import type { Tx } from '../../lib/postgres/db.ts';
import { columnList, sql } from '../../lib/postgres/sql.ts';
import type { DateRange } from './reports/types.ts';
import {
  type HeaderMapping,
  isFinished,
  type NewUpload,
  type OwnedUploadKey,
  type Platform,
  slotsPerWorkspace,
  statesBefore,
  type Upload,
  type UploadKey,
  type UploadStatus,
  type WorkspaceKey,
} from './types.ts';

/** An `Upload`, from `data_uploads u`. */
const uploadColumns = sql`
  ${columnList(
    `tenant_id upload_id workspace_id client_id platform platform_version source origin filename unpacked
    file_id file_url status force_partial review mapping mapping_version job_id row_count total_rows
    valid_rows invalid_rows promoted_rows failed_rows campaigns_upserted ad_sets_upserted ads_upserted
    daily_metrics_upserted period_metrics_upserted breakdowns_stored reconciliation blockers date_from
    date_to warnings layout error_code error_text event_emitted created_by user_id created_at updated_at
    finished_at undone_at`,
    'u.',
  )},
  array(select to_char(d, 'YYYY-MM-DD') from unnest(u.affected_dates) d) as "affectedDates"`;

export async function insertUpload(tx: Tx, upload: NewUpload): Promise<Upload> {
  const unpacked = upload.unpacked === null ? null : JSON.stringify(upload.unpacked);
  const [row] = await tx.rows<Upload>(sql`
    insert into data_uploads as u (
      tenant_id, upload_id, workspace_id, client_id, platform, platform_version, source, origin, date_from, date_to,
      filename, unpacked, file_id, file_url, force_partial, review, mapping, job_id, created_by, user_id)
    values (
      ${upload.tenantId}, ${upload.uploadId}, ${upload.workspaceId}, ${upload.clientId}, ${upload.platform},
      ${upload.platformVersion}, ${upload.source}, ${upload.origin}, ${upload.dateFrom}, ${upload.dateTo},
      ${upload.filename}, ${unpacked}, ${upload.fileId}, ${upload.fileUrl}, ${upload.forcePartial}, ${upload.review},
      ${JSON.stringify(upload.mapping)}, ${upload.jobId}, ${upload.createdBy}, ${upload.userId})
    returning ${uploadColumns}`);
  return row as Upload;
}

export function findUpload(tx: Tx, { tenantId, uploadId, ownerId }: OwnedUploadKey): Promise<Upload | null> {
  return tx.find<Upload>(sql`
    select ${uploadColumns}
      from data_uploads u
     where u.tenant_id = ${tenantId}
       and u.upload_id = ${uploadId}
       and (${ownerId ?? null}::text is null or u.user_id = ${ownerId ?? null})`);
}

export interface UploadFilter {
  tenantId: string;
  ownerId?: string | undefined;
  workspaceId?: string | undefined;
  status?: UploadStatus | undefined;
  platform?: Platform | undefined;
  /** Part of the file name, in any case. */
  filename?: string | undefined;
  /** The id of the last upload on the previous page. */
  after: string | null;
  limit: number;
}

/** Newest first. */
export function listUploads(tx: Tx, filter: UploadFilter): Promise<Upload[]> {
  return tx.rows<Upload>(sql`
    select ${uploadColumns}
      from data_uploads u
     where u.tenant_id = ${filter.tenantId}
       and (${filter.ownerId ?? null}::text is null or u.user_id = ${filter.ownerId ?? null})
       and (${filter.workspaceId ?? null}::uuid is null or u.workspace_id = ${filter.workspaceId ?? null})
       and (${filter.status ?? null}::text is null or u.status = ${filter.status ?? null})
       and (${filter.platform ?? null}::text is null or u.platform = ${filter.platform ?? null})
       and (${filter.filename ?? null}::text is null
            or strpos(lower(u.filename), lower(${filter.filename ?? null})) > 0)
       and (${filter.after}::uuid is null or u.upload_id < ${filter.after})
     order by u.upload_id desc
     limit ${filter.limit}`);
}

export async function workspaceExists(tx: Tx, { tenantId, workspaceId }: WorkspaceKey): Promise<boolean> {
  const found = await tx.find(sql`
    select 1 as found
      from workspaces
     where tenant_id = ${tenantId}
       and workspace_id = ${workspaceId}`);
  return found !== null;
}

/**
 * Moves the upload if its state allows it, and returns whether it did. With `ifHeld` it must wait for a reviewer too.
 * Writes only columns that every worker's role may write. At the end every row is promoted or failed, valid or not.
 */
export async function moveUpload(
  tx: Tx,
  { tenantId, uploadId }: UploadKey,
  to: UploadStatus,
  details: { errorCode?: string; errorText?: string; ifHeld?: boolean } = {},
): Promise<boolean> {
  const isEnd = isFinished(to);
  const moved = await tx.run(sql`
    update data_uploads
       set status = ${to},
           error_code = coalesce(${details.errorCode ?? null}, error_code),
           error_text = coalesce(${details.errorText ?? null}, error_text),
           failed_rows = case when ${isEnd} then total_rows - promoted_rows else failed_rows end,
           finished_at = case when ${isEnd} then clock_timestamp() else finished_at end,
           updated_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and upload_id = ${uploadId}
       and status = any(${statesBefore(to)})
       and (${details.ifHeld !== true} or (status = 'staging_complete' and review))`);
  return moved === 1;
}

export type ParseFigures = Pick<Upload, 'totalRows' | 'validRows' | 'invalidRows' | 'warnings' | 'layout'> &
  Partial<Pick<Upload, 'blockers' | 'reconciliation'>>;

export async function saveParseFigures(
  tx: Tx,
  { tenantId, uploadId }: UploadKey,
  figures: ParseFigures,
): Promise<void> {
  const { blockers = [], reconciliation = null } = figures;
  await tx.run(sql`
    update data_uploads
       set total_rows = ${figures.totalRows},
           valid_rows = ${figures.validRows},
           invalid_rows = ${figures.invalidRows},
           warnings = ${JSON.stringify(figures.warnings)},
           layout = coalesce(${figures.layout === null ? null : JSON.stringify(figures.layout)}::jsonb, layout),
           blockers = ${JSON.stringify(blockers)},
           -- A person has to decide about what blocks it, whoever sent it.
           review = review or ${blockers.length > 0},
           reconciliation = coalesce(
             ${reconciliation === null ? null : JSON.stringify(reconciliation)}::jsonb, reconciliation),
           updated_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and upload_id = ${uploadId}`);
}

/** What a reviewer decides about a held upload. Returns false when it is not held. What is absent stays as it was. */
export async function saveDecision(
  tx: Tx,
  { tenantId, uploadId }: UploadKey,
  decision: {
    review: boolean;
    mapping?: HeaderMapping | undefined;
    forcePartial?: boolean | undefined;
    range?: DateRange | undefined;
  },
): Promise<boolean> {
  const mapping = decision.mapping === undefined ? null : JSON.stringify(decision.mapping);
  const { from = null, to = null } = decision.range ?? {};
  const saved = await tx.run(sql`
    update data_uploads
       set review = ${decision.review},
           mapping = coalesce(${mapping}::jsonb, mapping),
           date_from = coalesce(${from}::date, date_from),
           date_to = coalesce(${to}::date, date_to),
           mapping_version = mapping_version + case
             when ${mapping}::jsonb <> mapping then 1
             when (${from}::date, ${to}::date) is distinct from (date_from, date_to) and ${from !== null} then 1
             else 0 end,
           force_partial = coalesce(${decision.forcePartial ?? null}, force_partial),
           updated_at = clock_timestamp()
     where tenant_id = ${tenantId}
       and upload_id = ${uploadId}
       and status = 'staging_complete'
       and review`);
  return saved === 1;
}

/**
 * Takes one of the workspace's slots, if one is free that no older upload waits for. A paused upload does not block
 * the others.
 */
export async function takeSlot(
  tx: Tx,
  { tenantId, uploadId, workspaceId }: UploadKey & WorkspaceKey,
): Promise<boolean> {
  await tx.run(sql`
    insert into upload_slots (tenant_id, workspace_id, slot_no)
    select ${tenantId}, ${workspaceId}, n
      from generate_series(1, ${slotsPerWorkspace}) n
    on conflict (tenant_id, workspace_id, slot_no) do nothing`);
  const taken = await tx.run(sql`
    update upload_slots
       set upload_id = ${uploadId},
           taken_at = clock_timestamp()
     where (tenant_id, workspace_id, slot_no) = (
       select s.tenant_id, s.workspace_id, s.slot_no
         from upload_slots s
        where s.tenant_id = ${tenantId}
          and s.workspace_id = ${workspaceId}
          and s.upload_id is null
          and (select count(*)
                 from upload_slots f
                where f.tenant_id = ${tenantId}
                  and f.workspace_id = ${workspaceId}
                  and f.upload_id is null)
            > (select count(*)
                 from data_uploads o
                 join data_uploads m on m.tenant_id = ${tenantId} and m.upload_id = ${uploadId}
                 join ingestion_jobs j on j.tenant_id = o.tenant_id and j.job_id = o.job_id
                where o.tenant_id = ${tenantId}
                  and o.workspace_id = ${workspaceId}
                  and o.status = 'pending'
                  and (o.created_at, o.upload_id) < (m.created_at, m.upload_id)
                  and j.status in ('queued', 'running', 'failed'))
        order by s.slot_no
        limit 1
          for update skip locked)
       and not exists (
         select from upload_slots h
          where h.tenant_id = ${tenantId}
            and h.upload_id = ${uploadId})`);
  return taken === 1 || (await holdsSlot(tx, { tenantId, uploadId }));
}

async function holdsSlot(tx: Tx, { tenantId, uploadId }: UploadKey): Promise<boolean> {
  const held = await tx.find(sql`
    select 1 as found
      from upload_slots
     where tenant_id = ${tenantId}
       and upload_id = ${uploadId}`);
  return held !== null;
}

/** The jobs of uploads that wait for a slot of a workspace, oldest first. */
export function listWaitingJobs(
  tx: Tx,
  { tenantId, workspaceId }: WorkspaceKey,
): Promise<{ tenantId: string; jobId: string }[]> {
  return tx.rows<{ tenantId: string; jobId: string }>(sql`
    select u.tenant_id as "tenantId", u.job_id as "jobId"
      from data_uploads u
     where u.tenant_id = ${tenantId}
       and u.workspace_id = ${workspaceId}
       and u.status = 'pending'
     order by u.created_at, u.upload_id
     limit ${slotsPerWorkspace}`);
}

export async function freeSlot(tx: Tx, { tenantId, uploadId }: UploadKey): Promise<boolean> {
  const freed = await tx.run(sql`
    update upload_slots
       set upload_id = null,
           taken_at = null
     where tenant_id = ${tenantId}
       and upload_id = ${uploadId}`);
  return freed === 1;
}

export interface AbandonedUpload extends UploadKey {
  errorMessage: string;
  checkpoint: Record<string, unknown>;
}

/** Unfinished uploads whose job is a dead letter: a worker that was killed could not fail them. */
export function listAbandoned(tx: Tx, limit: number): Promise<AbandonedUpload[]> {
  return tx.rows<AbandonedUpload>(sql`
    select u.tenant_id as "tenantId", u.upload_id as "uploadId",
           coalesce(j.error_message, 'The job of this upload ended without an error message') as "errorMessage",
           j.checkpoint
      from data_uploads u
      join ingestion_jobs j on j.tenant_id = u.tenant_id and j.job_id = u.job_id
     where u.status not in ('completed', 'partial', 'failed')
       and j.status = 'dead_letter'
     limit ${limit}`);
}

/** Uploads are called like their files. */
export function listUploadNames(
  tx: Tx,
  { tenantId, subjectIds }: { tenantId: string; subjectIds: readonly string[] },
): Promise<{ subjectId: string; name: string }[]> {
  return tx.rows(sql`
    select n.upload_id::text as "subjectId", n.filename as name
      from data_uploads n
     where n.tenant_id = ${tenantId}
       and n.upload_id = any(${subjectIds.filter(isId)}::uuid[])
       and n.filename is not null`);
}
