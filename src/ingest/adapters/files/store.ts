import type { Tx } from '../../../lib/postgres/db.ts';
import { sql, trustedSql } from '../../../lib/postgres/sql.ts';
import type { AdapterFile, AdapterKey, FileKey, FileState, FoundFile } from '../types.ts';

/** An `AdapterFile`, from `adapter_files f`. */
const fileColumns = trustedSql(`
  f.tenant_id as "tenantId", f.file_id as "fileId", f.adapter, f.path, f.size_bytes as "sizeBytes", f.version, f.state,
  f.looks, (extract(epoch from clock_timestamp() - f.same_since) * 1000)::float8 as "sameForMs", f.attempts, f.sha256,
  f.job_id as "jobId", f.upload_id as "uploadId", f.duplicate_of as "duplicateOf", f.reason_code as "reasonCode",
  f.reason, f.moved_to as "movedTo", f.found_at as "foundAt", f.last_seen_at as "lastSeenAt",
  f.finished_at as "finishedAt"`);

export interface FilePage extends AdapterKey {
  state?: FileState | undefined;
  after: string | null;
  limit: number;
}

/** Newest first. */
export function listFiles(tx: Tx, { tenantId, name, state, after, limit }: FilePage): Promise<AdapterFile[]> {
  return tx.rows<AdapterFile>(sql`
    select ${fileColumns}
      from adapter_files f
     where f.tenant_id = ${tenantId}
       and f.adapter = ${name}
       and (${state ?? null}::text is null or f.state = ${state ?? null})
       and (${after}::uuid is null or f.file_id < ${after}::uuid)
     order by f.file_id desc
     limit ${limit}`);
}

export function findFile(
  tx: Tx,
  { tenantId, name, fileId }: AdapterKey & FileKey,
): Promise<AdapterFile | null> {
  return tx.find<AdapterFile>(sql`
    select ${fileColumns}
      from adapter_files f
     where f.tenant_id = ${tenantId}
       and f.adapter = ${name}
       and f.file_id = ${fileId}`);
}

/** The number of files per adapter and state. */
export function countFiles(
  tx: Tx,
  { tenantId, names }: { tenantId: string; names: readonly string[] },
): Promise<{ adapter: string; state: FileState; count: number }[]> {
  return tx.rows(sql`
    select adapter, state, count(*) as count
      from adapter_files
     where tenant_id = ${tenantId}
       and adapter = any(${names}::text[])
     group by adapter, state`);
}

/** Returns false when the file has not failed, or when a newer version of it is waiting already. */
export async function reopenFailed(
  tx: Tx,
  { tenantId, name, fileId }: AdapterKey & FileKey,
): Promise<boolean> {
  const reopened = await tx.run(sql`
    update adapter_files f
       set state = 'waiting',
           attempts = 0,
           looks = 2,
           same_since = clock_timestamp() - interval '1 day',
           finished_at = null,
           reason_code = null,
           reason = null
     where f.tenant_id = ${tenantId}
       and f.adapter = ${name}
       and f.file_id = ${fileId}
       and f.state = 'failed'
       and (f.moved_to is not null or not exists (
         select from adapter_files other
          where other.tenant_id = f.tenant_id
            and other.adapter = f.adapter
            and other.path = f.path
            and other.state = 'waiting'
            and other.moved_to is null))`);
  return reopened === 1;
}

/**
 * The records of listed files that have ended, in no order. All paths are queried at once: without statistics,
 * PostgreSQL may use any index that begins with the adapter, and should then read the adapter's records once and not
 * once per file.
 */
export function listEnded(
  tx: Tx,
  { tenantId, name, files }: AdapterKey & { files: readonly FoundFile[] },
): Promise<AdapterFile[]> {
  const paths = files.map((file) => file.path);
  return tx.rows<AdapterFile>(sql`
    with f as materialized (
      select *
        from adapter_files
       where tenant_id = ${tenantId}
         and adapter = ${name}
         and path = any(${paths}::text[])
         and moved_to is null
         and state <> 'waiting')
    select ${fileColumns}
      from f
      join unnest(${paths}::text[], ${files.map((file) => file.sizeBytes)}::bigint[],
                  ${files.map((file) => file.version)}::text[]) seen (path, size_bytes, version)
        on seen.path = f.path
       and seen.size_bytes = f.size_bytes
       and seen.version = f.version`);
}

/** Records that files were seen. For unchanged files the count of looks goes up; for changed ones it restarts. */
export function recordLooks(
  tx: Tx,
  look: AdapterKey & { files: readonly FoundFile[]; fileIds: readonly string[] },
): Promise<AdapterFile[]> {
  const { files } = look;
  return tx.rows<AdapterFile>(sql`
    insert into adapter_files as f (tenant_id, file_id, adapter, path, size_bytes, version)
    select ${look.tenantId}, file_id, ${look.name}, path, size_bytes, version
      from unnest(${look.fileIds}::uuid[], ${files.map((file) => file.path)}::text[],
                  ${files.map((file) => file.sizeBytes)}::bigint[], ${files.map((file) => file.version)}::text[])
           seen (file_id, path, size_bytes, version)
     order by path
    on conflict (tenant_id, adapter, path) where state = 'waiting' and moved_to is null do update
       set looks = case
             when (f.size_bytes, f.version) = (excluded.size_bytes, excluded.version) then least(f.looks, 1000000) + 1
             else 1
           end,
           same_since = case
             when (f.size_bytes, f.version) = (excluded.size_bytes, excluded.version) then f.same_since
             else excluded.same_since
           end,
           size_bytes = excluded.size_bytes,
           version = excluded.version,
           last_seen_at = excluded.last_seen_at
    returning ${fileColumns}`);
}

/** Deletes waiting files that are no longer listed. Moved files are not listed, so they stay. */
export function forgetUnseen(
  tx: Tx,
  { tenantId, name, since, limit }: AdapterKey & { since: Date; limit: number },
): Promise<number> {
  return tx.run(sql`
    delete from adapter_files
     where tenant_id = ${tenantId}
       and file_id = any(array(
         select file_id
           from adapter_files
          where tenant_id = ${tenantId}
            and adapter = ${name}
            and state = 'waiting'
            and moved_to is null
            and last_seen_at < ${since}
          limit ${limit}))`);
}

/** Moved files that are to be retried from where they are now. */
export function listMovedWaiting(
  tx: Tx,
  { tenantId, name, limit }: AdapterKey & { limit: number },
): Promise<AdapterFile[]> {
  return tx.rows<AdapterFile>(sql`
    select ${fileColumns}
      from adapter_files f
     where f.tenant_id = ${tenantId}
       and f.adapter = ${name}
       and f.state = 'waiting'
       and f.moved_to is not null
     order by f.file_id
     limit ${limit}`);
}

export async function readClock(tx: Tx): Promise<Date> {
  const row = await tx.find<{ at: Date }>(sql`select clock_timestamp() as at`);
  if (!row) throw new Error('The database clock returned no row');
  return row.at;
}

/** Returns the number of attempts, including this one. */
export async function countAttempt(tx: Tx, { tenantId, fileId }: FileKey): Promise<number> {
  const row = await tx.find<{ attempts: number }>(sql`
    update adapter_files
       set attempts = attempts + 1
     where tenant_id = ${tenantId}
       and file_id = ${fileId}
       and state = 'waiting'
    returning attempts`);
  return row?.attempts ?? 0;
}

/** Records why a file keeps waiting. Only a fault of the file uses up an attempt. */
export async function keepWaiting(
  tx: Tx,
  file: FileKey & { reasonCode: string; reason: string; isItsFault: boolean; looksAnew: boolean },
): Promise<void> {
  await tx.run(sql`
    update adapter_files
       set reason_code = ${file.reasonCode},
           reason = ${file.reason},
           attempts = greatest(0, attempts - ${file.isItsFault ? 0 : 1}),
           looks = case when ${file.looksAnew}::boolean then 0 else looks end,
           same_since = case when ${file.looksAnew}::boolean then clock_timestamp() else same_since end
     where tenant_id = ${file.tenantId}
       and file_id = ${file.fileId}
       and state = 'waiting'`);
}

/** The ingested file with this content, or null. */
export function findIngested(
  tx: Tx,
  { tenantId, name, sha256 }: AdapterKey & { sha256: string },
): Promise<AdapterFile | null> {
  return tx.find<AdapterFile>(sql`
    select ${fileColumns}
      from adapter_files f
     where f.tenant_id = ${tenantId}
       and f.adapter = ${name}
       and f.sha256 = ${sha256}
       and f.state = 'ingested'`);
}

export type FileEnd = FileKey &
  Pick<AdapterFile, 'sha256' | 'jobId' | 'uploadId' | 'duplicateOf' | 'reasonCode' | 'reason'> & {
    state: Exclude<FileState, 'waiting'>;
  };

/** Returns false when the file has ended already or its record is gone. */
export async function endFile(tx: Tx, end: FileEnd): Promise<boolean> {
  const ended = await tx.run(sql`
    update adapter_files
       set state = ${end.state},
           sha256 = ${end.sha256},
           job_id = ${end.jobId},
           upload_id = ${end.uploadId},
           duplicate_of = ${end.duplicateOf},
           reason_code = ${end.reasonCode},
           reason = ${end.reason},
           finished_at = clock_timestamp()
     where tenant_id = ${end.tenantId}
       and file_id = ${end.fileId}
       and state = 'waiting'`);
  return ended === 1;
}

/** Whether the error says that the same content has just been ingested. */
export function isTakenAlready(error: unknown): boolean {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  return code === '23505' && constraint === 'ux_adapter_files_content';
}

/** For a file whose content did not change: its record gets the new version, and the new record is deleted. */
export async function renewVersion(
  tx: Tx,
  { tenantId, knownId, lookId }: { tenantId: string; knownId: string; lookId: string },
): Promise<void> {
  await tx.run(sql`
    with looked as (
      delete from adapter_files
       where tenant_id = ${tenantId}
         and file_id = ${lookId}
         and state = 'waiting'
      returning size_bytes, version, last_seen_at)
    update adapter_files known
       set size_bytes = looked.size_bytes,
           version = looked.version,
           last_seen_at = looked.last_seen_at
      from looked
     where known.tenant_id = ${tenantId}
       and known.file_id = ${knownId}`);
}

export async function recordMove(tx: Tx, { tenantId, fileId, movedTo }: FileKey & { movedTo: string }) {
  await tx.run(sql`
    update adapter_files
       set moved_to = ${movedTo}
     where tenant_id = ${tenantId}
       and file_id = ${fileId}`);
}
