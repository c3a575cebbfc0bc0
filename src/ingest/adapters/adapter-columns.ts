import { trustedSql } from '../../lib/postgres/sql.ts';

/** An `Adapter`, from `adapters a`. */
export const adapterColumns = trustedSql(`
  a.tenant_id as "tenantId", a.name, a.place, a.target, a.pattern, a.every_minutes as "everyMinutes", a.after,
  a.settle_seconds as "settleSeconds", a.next_scan_at as "nextScanAt", a.failures_in_row as "failuresInRow",
  a.last_scan_at as "lastScanAt", a.last_success_at as "lastSuccessAt", a.last_result as "lastResult",
  a.last_error as "lastError", a.last_error_code as "lastErrorCode", a.scanning_by as "scanningBy",
  coalesce(a.scan_until > clock_timestamp(), false) as "isScanning", a.created_by as "createdBy",
  a.created_at as "createdAt", a.updated_at as "updatedAt"`);

/** An `AdapterFile`, from `adapter_files f`. */
export const fileColumns = trustedSql(`
  f.tenant_id as "tenantId", f.file_id as "fileId", f.adapter, f.path, f.size_bytes as "sizeBytes", f.version, f.state,
  f.looks, (extract(epoch from clock_timestamp() - f.same_since) * 1000)::float8 as "sameForMs", f.attempts, f.sha256,
  f.job_id as "jobId", f.upload_id as "uploadId", f.duplicate_of as "duplicateOf", f.reason_code as "reasonCode",
  f.reason, f.moved_to as "movedTo", f.found_at as "foundAt", f.last_seen_at as "lastSeenAt",
  f.finished_at as "finishedAt"`);
