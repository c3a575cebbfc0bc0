import { type Sql, trustedSql } from '../../lib/sql.ts';

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

/** The same for what claim_jobs() answers. */
export const claimedColumns = columnsOf('(c.claimed).');
