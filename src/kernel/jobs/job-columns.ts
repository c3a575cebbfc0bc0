import { type Sql, trustedSql } from '../../lib/postgres/sql.ts';

const names: Record<string, string> = {
  tenant_id: 'tenantId',
  job_id: 'jobId',
  pipeline: 'pipeline',
  subject_id: 'subjectId',
  workspace_id: 'workspaceId',
  status: 'status',
  stage: 'stage',
  run_at: 'runAt',
  next_retry_at: 'nextRetryAt',
  retry_count: 'retryCount',
  max_retries: 'maxRetries',
  run_id: 'runId',
  correlation_id: 'correlationId',
  error_code: 'errorCode',
  error_message: 'errorMessage',
  payload: 'payload',
  checkpoint: 'checkpoint',
  counters: 'counters',
  lease_epoch: 'leaseEpoch',
  leased_by: 'leasedBy',
  lease_expires_at: 'leaseExpiresAt',
  heartbeat_at: 'heartbeatAt',
  struck_by: 'struckBy',
  cleanup_open: 'cleanupOpen',
  requeued_from: 'requeuedFrom',
  shared: 'shared',
  connector_id: 'connectorId',
  external_account_id: 'externalAccountId',
  user_id: 'userId',
  file_id: 'fileId',
  created_by: 'createdBy',
  created_at: 'createdAt',
  started_at: 'startedAt',
  finished_at: 'finishedAt',
  updated_at: 'updatedAt',
};

function columnsOf(prefix: string): Sql {
  return trustedSql(
    Object.entries(names)
      .map(([column, name]) => `${prefix}${column} as "${name}"`)
      .join(', '),
  );
}

/** The columns of a Job, for `from ingestion_jobs j`. */
export const jobColumns = columnsOf('j.');

/** The same for what claim_jobs() returns. */
export const claimedColumns = columnsOf('(c.claimed).');

/** The events of jobs `made` by the statement that it stands in. What follows a dead letter is a new job as well. */
export const logMade: Sql = trustedSql(`
      insert into events (tenant_id, type, subject, user_id, correlation_id, data)
      select j.tenant_id, told.type, j.job_id::text, j.user_id, j.correlation_id,
             jsonb_strip_nulls(jsonb_build_object(
               'job_id', j.job_id, 'tenant_id', j.tenant_id, 'pipeline', j.pipeline, 'subject_id', j.subject_id,
               'connector_id', j.connector_id, 'requeued_from', j.requeued_from, 'created_by', j.created_by))
        from made j,
             unnest(case when j.requeued_from is null then array['job.queued']
                         else array['job.queued', 'job.requeued'] end) told (type)`);
