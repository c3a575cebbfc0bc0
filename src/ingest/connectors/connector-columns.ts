import { trustedSql } from '../../lib/postgres/sql.ts';

/** A `Connector`, read from `connectors c` joined with `tenants t`. */
export const connectorColumns = trustedSql(`
  c.tenant_id as "tenantId", c.connector_id as "connectorId", c.name,
  c.airbyte_connection_id as "airbyteConnectionId", c.external_account_id as "externalAccountId", c.enabled,
  c.cadence_hours as "cadenceHours", c.min_interval_seconds as "minIntervalSeconds",
  c.on_active_sync as "onActiveSync", c.jitter, c.next_sync_at as "nextSyncAt", c.last_tick_at as "lastTickAt",
  c.last_notice as "lastNotice", c.created_by as "createdBy", c.created_at as "createdAt",
  c.updated_at as "updatedAt", c.planned_for as "plannedFor", t.plan`);
