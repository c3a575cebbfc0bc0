import { z } from 'zod';
import { shownAs, timestamp } from '../../kernel/http/replies.ts';
import { type Job, jobStatuses } from '../../kernel/jobs/types.ts';
import { leastGapMs } from '../../kernel/schedule/cron.ts';
import { effectiveCadenceHours } from '../../kernel/schedule/ticks.ts';
import { toSnakeCase } from '../../lib/snake-case.ts';
import type { ListedConnection } from './connections/connections.ts';
import type { LastJob } from './store.ts';
import { checkpointOf, isEmptyCode, type SyncResult } from './sync/checkpoint.ts';
import { activeSyncPolicies, type Connector } from './types.ts';

const lastSyncReply = z.object({
  job_id: z.uuid(),
  status: z.string(),
  finished_at: timestamp.nullable(),
  error_message: z.string().nullable(),
  waiting_for: z.string().nullable(),
});

export type LastSync = Omit<LastJob, 'connectorId'>;

export const connectorReply = z
  .object({
    connector_id: z.string(),
    tenant_id: z.string(),
    name: z.string(),
    airbyte_connection_id: z.string(),
    airbyte_server: z.string().nullable().describe('Null: the one of this installation'),
    external_account_id: z.string(),
    enabled: z.boolean(),
    cadence_hours: z
      .number()
      .describe('The effective one: as configured, but never below the plan’s minimum'),
    configured_cadence_hours: z.number().nullable(),
    cron: z.string().nullable(),
    time_zone: z.string(),
    min_interval_seconds: z.int().nullable(),
    on_active_sync: z.enum(activeSyncPolicies),
    next_sync_at: timestamp.nullable(),
    last_sync: lastSyncReply.nullable(),
    created_by: z.string(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Connector' });

const warningReply = z.object({ code: z.string(), message: z.string() });

/** A connector as its creator sees it. */
export const enrolledConnectorReply = connectorReply
  .extend({ warnings: z.array(warningReply).describe('What Airbyte says about the connection') })
  .meta({ id: 'EnrolledConnector' });

export function renderConnector(
  connector: Connector,
  lastSync: LastSync | null = null,
): z.output<typeof connectorReply> {
  const { cron, timeZone } = connector;
  return {
    ...shownAs(connectorReply, connector),
    // An expression has no one cadence; its shortest says what the plan sees.
    cadence_hours:
      cron === null ? effectiveCadenceHours(connector) : leastGapMs({ cron }, new Date()) / 3_600_000,
    cron,
    time_zone: timeZone,
    configured_cadence_hours: connector.cadenceHours,
    next_sync_at: connector.enabled ? connector.nextSyncAt.toISOString() : null,
    last_sync: lastSync && shownAs(lastSyncReply, lastSync),
  };
}

export const syncReply = z
  .object({
    job_id: z.uuid(),
    tenant_id: z.string(),
    connector_id: z.string().nullable(),
    external_account_id: z.string().nullable(),
    status: z.enum(jobStatuses),
    stage: z.string().nullable(),
    retry_count: z.int(),
    max_retries: z.int(),
    run_id: z.string().nullable(),
    correlation_id: z.string(),
    error_message: z.string().nullable(),
    error_code: z.string().nullable(),
    next_retry_at: timestamp.nullable(),
    records_synced: z.number().nullable(),
    bytes_synced: z.number().nullable(),
    duration_seconds: z.number().nullable(),
    run_started_at: timestamp.nullable(),
    run_ended_at: timestamp.nullable(),
    failure_reason: z.string().nullable(),
    result_code: z
      .string()
      .nullable()
      .describe('no_records or no_statistics: the sync succeeded, and nothing is known to have moved'),
    airbyte_status: z.string().nullable().describe('The run’s status that Airbyte last reported'),
    adopted: z.boolean().describe('True when somebody else started the run and this job follows it'),
    waiting_for: z.string().nullable().describe('Why the sync is waiting'),
    blocked_by: z
      .object({ run_id: z.string(), job_type: z.string(), since: timestamp })
      .nullable()
      .describe('The reset, refresh or clear at Airbyte that the sync waits for'),
    trigger_started_at: timestamp.nullable(),
    requeued_from: z.uuid().nullable(),
    created_by: z.string(),
    created_at: timestamp,
    started_at: timestamp.nullable(),
    finished_at: timestamp.nullable(),
    updated_at: timestamp,
  })
  .meta({ id: 'Sync' });

export function renderSync(job: Job): z.output<typeof syncReply> {
  const { result, run, waitingFor, blockedBy, triggerStartedAt } = checkpointOf(job.checkpoint);
  const isRunning = job.status === 'running';
  return {
    ...shownAs(syncReply, job),
    error_code: job.errorCode ?? errorCodeOf(result),
    records_synced: result?.recordsSynced ?? null,
    bytes_synced: result?.bytesSynced ?? null,
    duration_seconds: result?.durationSeconds ?? secondsOf(job),
    run_started_at: result?.startedAt ?? null,
    run_ended_at: result?.endedAt ?? null,
    failure_reason: result?.failureReason ?? null,
    result_code: job.status === 'success' ? (result?.code ?? null) : null,
    airbyte_status: run?.status ?? null,
    adopted: run?.isAdopted ?? false,
    waiting_for: isRunning ? waitingFor : null,
    blocked_by: isRunning ? blockedBy && toSnakeCase(blockedBy) : null,
    trigger_started_at: triggerStartedAt,
  };
}

/** A sync that moved nothing has not failed. */
function errorCodeOf(result: SyncResult | null): string | null {
  return result === null || isEmptyCode(result.code) ? null : result.code;
}

function secondsOf({ startedAt, finishedAt }: Job): number | null {
  return startedAt && finishedAt ? (finishedAt.getTime() - startedAt.getTime()) / 1000 : null;
}

const enrolledReply = z.object({ tenant_id: z.string(), connector_id: z.string() });

export const connectionReply = z
  .object({
    airbyte_connection_id: z.string(),
    name: z.string(),
    status: z.string(),
    schedule_type: z
      .string()
      .nullable()
      .describe('Should be manual: otherwise Airbyte’s scheduler competes with ours'),
    source_id: z.string().nullable(),
    destination_id: z.string().nullable(),
    enrolled_as: enrolledReply.nullable(),
  })
  .meta({ id: 'AirbyteConnection' });

export function renderConnection(connection: ListedConnection): z.output<typeof connectionReply> {
  const { enrolled } = connection;
  return {
    ...shownAs(connectionReply, connection),
    airbyte_connection_id: connection.connectionId,
    enrolled_as: enrolled && shownAs(enrolledReply, enrolled),
  };
}
