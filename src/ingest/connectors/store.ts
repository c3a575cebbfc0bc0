import type { Attention, Scope } from '../../kernel/stats/types.ts';
import type { Plan } from '../../kernel/tenancy/types.ts';
import type { Tx } from '../../lib/postgres/db.ts';
import { columnList, sql } from '../../lib/postgres/sql.ts';
import type { Connector, ConnectorKey, NewConnector, Notice } from './types.ts';

const columns = columnList(
  `tenant_id connector_id name airbyte_connection_id airbyte_server airbyte_workspace_id external_account_id enabled
   cadence_hours cron time_zone min_interval_seconds on_active_sync jitter next_sync_at last_tick_at last_notice
   created_by created_at updated_at planned_for`,
  'c.',
);

/** A `Connector`, read from `connectors c` joined with `tenants t`. */
export const connectorColumns = sql`${columns}, t.plan`;

export async function insertConnector(tx: Tx, connector: NewConnector): Promise<void> {
  await tx.run(sql`
    insert into connectors (
      tenant_id, connector_id, name, airbyte_connection_id, airbyte_server, airbyte_workspace_id,
      external_account_id, enabled,
      cadence_hours, cron, time_zone, min_interval_seconds, on_active_sync, jitter, next_sync_at, planned_for,
      created_by)
    values (
      ${connector.tenantId}, ${connector.connectorId}, ${connector.name}, ${connector.airbyteConnectionId},
      ${connector.airbyteServer}, ${connector.airbyteWorkspaceId}, ${connector.externalAccountId}, ${connector.enabled},
      ${connector.cadenceHours}, ${connector.cron}, ${connector.timeZone}, ${connector.minIntervalSeconds},
      ${connector.onActiveSync}, ${connector.jitter},
      clock_timestamp() + ${Math.round(connector.firstSyncInMs)}::bigint * interval '1 millisecond',
      ${connector.plan}, ${connector.createdBy})`);
}

export function findConnector(tx: Tx, { tenantId, connectorId }: ConnectorKey): Promise<Connector | null> {
  return tx.find<Connector>(sql`
    select ${connectorColumns}
      from connectors c
      join tenants t on t.tenant_id = c.tenant_id
     where c.tenant_id = ${tenantId}
       and c.connector_id = ${connectorId}`);
}

/** By their ids. */
export function listConnectors(
  tx: Tx,
  filter: { tenantId: string; after: string | null; limit: number },
): Promise<Connector[]> {
  return tx.rows<Connector>(sql`
    select ${connectorColumns}
      from connectors c
      join tenants t on t.tenant_id = c.tenant_id
     where c.tenant_id = ${filter.tenantId}
       and (${filter.after}::text is null or c.connector_id > ${filter.after})
     order by c.connector_id
     limit ${filter.limit}`);
}

export async function updateConnector(tx: Tx, change: Connector): Promise<void> {
  await tx.run(sql`
    update connectors
       set name = ${change.name},
           external_account_id = ${change.externalAccountId},
           enabled = ${change.enabled},
           cadence_hours = ${change.cadenceHours},
           cron = ${change.cron},
           time_zone = ${change.timeZone},
           min_interval_seconds = ${change.minIntervalSeconds},
           on_active_sync = ${change.onActiveSync},
           updated_at = clock_timestamp()
     where tenant_id = ${change.tenantId}
       and connector_id = ${change.connectorId}`);
}

export async function deleteConnector(tx: Tx, { tenantId, connectorId }: ConnectorKey): Promise<boolean> {
  const deleted = await tx.run(sql`
    delete from connectors
     where tenant_id = ${tenantId}
       and connector_id = ${connectorId}`);
  return deleted === 1;
}

/** Locks it until the end of the transaction. */
export async function lockConnector(tx: Tx, { tenantId, connectorId }: ConnectorKey): Promise<void> {
  await tx.run(sql`
    select 1
      from connectors
     where tenant_id = ${tenantId}
       and connector_id = ${connectorId}
       for no key update`);
}

export async function readPlan(tx: Tx, tenantId: string): Promise<Plan | null> {
  const row = await tx.find<{ plan: Plan }>(sql`select plan from tenants where tenant_id = ${tenantId}`);
  return row?.plan ?? null;
}

export interface Enrolled extends ConnectorKey {
  airbyteConnectionId: string;
}

/** The owner of each of these connections, over all tenants. */
export function listEnrolled(tx: Tx, airbyteConnectionIds: readonly string[]): Promise<Enrolled[]> {
  return tx.rows<Enrolled>(sql`
    select c.airbyte_connection_id as "airbyteConnectionId", c.tenant_id as "tenantId",
           c.connector_id as "connectorId"
      from unnest(${airbyteConnectionIds}::text[]) wanted
      join connectors c on c.airbyte_connection_id = wanted`);
}

export async function saveNotice(
  tx: Tx,
  { tenantId, connectorId }: ConnectorKey,
  notice: Notice,
): Promise<void> {
  await tx.run(sql`
    update connectors
       set last_notice = ${JSON.stringify(notice)}
     where tenant_id = ${tenantId}
       and connector_id = ${connectorId}`);
}

export interface LastJob {
  connectorId: string;
  jobId: string;
  status: string;
  finishedAt: Date | null;
  errorMessage: string | null;
  waitingFor: string | null;
}

/** The last job of each of these connectors, whatever its status. */
export function listLastJobs(
  tx: Tx,
  { tenantId, connectorIds }: { tenantId: string; connectorIds: readonly string[] },
): Promise<LastJob[]> {
  return tx.rows<LastJob>(sql`
    select last.connector_id as "connectorId", last.job_id as "jobId", last.status, last.finished_at as "finishedAt",
           last.error_message as "errorMessage",
           case last.status when 'running' then last.checkpoint ->> 'waitingFor' end as "waitingFor"
      from unnest(${connectorIds}::text[]) wanted,
           lateral (
             select j.connector_id, j.job_id, j.status, j.finished_at, j.error_message, j.checkpoint
               from ingestion_jobs j
              where j.tenant_id = ${tenantId}
                and j.connector_id = wanted
              order by j.job_id desc
              limit 1) last`);
}

/** Connectors that are on and whose newest sync failed, by error code; their one newest job each is read. */
export function listConnectorAttention(tx: Tx, { tenantId, ownerId }: Scope): Promise<Attention[]> {
  return tx.rows<Attention>(sql`
    select 'connectors_failing' as kind, j.error_code as code, count(*) as count,
           min(coalesce(j.finished_at, j.updated_at)) as "oldestAt",
           case when count(*) = 1 then min(c.connector_id) end as "subjectId"
      from connectors c
     cross join lateral (
        select status, error_code, finished_at, updated_at, user_id
          from ingestion_jobs
         where tenant_id = c.tenant_id
           and connector_id = c.connector_id
         order by job_id desc
         limit 1) j
     where c.tenant_id = ${tenantId}
       and c.enabled
       and j.status in ('failed', 'dead_letter')
       and (${ownerId ?? null}::text is null or j.user_id = ${ownerId ?? null})
     group by j.error_code`);
}

/** As people have named them. */
export function listConnectorNames(
  tx: Tx,
  { tenantId, subjectIds }: { tenantId: string; subjectIds: readonly string[] },
): Promise<{ subjectId: string; name: string }[]> {
  return tx.rows(sql`
    select n.connector_id::text as "subjectId", n.name as name
      from connectors n
     where n.tenant_id = ${tenantId}
       and n.connector_id = any(${subjectIds}::text[])
       and n.name is not null`);
}
