import { isSluiceError } from '../../../lib/errors.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import type { AirbyteClient, AirbyteConnection } from '../airbyte/types.ts';
import { canonicalConnectionId } from '../connection-id.ts';
import { connectorErrors } from '../errors.ts';
import { type ConnectorWish, createConnector } from '../service.ts';
import { type Enrolled, listEnrolled, readPlan } from '../store.ts';
import { dependency } from '../sync/airbyte-calls.ts';
import { findRateLimit, type SavedRateLimit } from '../sync/rate-limit-store.ts';
import type { Connector } from '../types.ts';
import { type EnrolmentWarning, inspectConnection } from './inspection.ts';

export interface ConnectionsDeps {
  db: Database;
  client: AirbyteClient | null;
  workspaceId: string | null;
  /** Names of required settings that are not set. */
  missing: readonly string[];
}

export interface ListedConnection extends AirbyteConnection {
  enrolled: Enrolled | null;
}

/** The connections of the shared workspace, each with its connector's owner. For the operator only. */
export async function listConnections(
  deps: ConnectionsDeps,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ connections: ListedConnection[]; hasMore: boolean }> {
  const { client, workspaceId } = deps;
  if (client === null || workspaceId === null) {
    throw connectorErrors.raise.airbyte_not_configured(
      `Airbyte’s connections cannot be listed: ${deps.missing.join(' and ')} must be set`,
      { details: { missing: deps.missing } },
    );
  }
  const answer = await client.listConnections({ workspaceId, limit, offset });
  if (answer.type !== 'ok') {
    throw connectorErrors.raise.airbyte_refused(
      `Airbyte did not list the connections of workspace ${workspaceId}: ${answer.problem.message}`,
      { details: { airbyte_code: answer.problem.code } },
    );
  }
  const { connections, hasMore } = answer.value;
  const ids = connections.map(({ connectionId }) => connectionId);
  const enrolled = await deps.db.kernel((tx) => listEnrolled(tx, ids));
  const ownerOf = new Map(enrolled.map((one) => [one.airbyteConnectionId.toLowerCase(), one]));
  return {
    connections: connections.map((one) => ({
      ...one,
      enrolled: ownerOf.get(one.connectionId.toLowerCase()) ?? null,
    })),
    hasMore,
  };
}

/** What Airbyte last said about its rate limit, to any process. */
export function readRateLimit({ db }: Pick<ConnectionsDeps, 'db'>): Promise<SavedRateLimit | null> {
  return db.kernel((tx) => findRateLimit(tx, dependency));
}

export type ImportWish = ConnectorWish & { tenantId: string };

export interface ImportReport {
  imported: { connector: Connector; warnings: EnrolmentWarning[] }[];
  refused: { airbyteConnectionId: string; tenantId: string; code: string; message: string }[];
}

/** Enrols each connection for the named tenant; a refused one does not stop the others. */
export async function importConnections(
  { db, client }: Pick<ConnectionsDeps, 'db' | 'client'>,
  wishes: readonly ImportWish[],
  createdBy: string,
): Promise<ImportReport> {
  const report: ImportReport = { imported: [], refused: [] };
  for (const wish of wishes) {
    const { tenantId, airbyteConnectionId } = wish;
    try {
      await assertTenant(db, tenantId);
      const { warnings, workspaceId } = await inspectConnection(
        client,
        canonicalConnectionId(airbyteConnectionId),
      );
      const connector = await createConnector({ db }, { tenantId, createdBy, workspaceId }, wish);
      report.imported.push({ connector, warnings });
    } catch (error) {
      if (!isSluiceError(error) || !refusals.includes(error.code)) throw error;
      report.refused.push({ airbyteConnectionId, tenantId, code: error.code, message: error.message });
    }
  }
  return report;
}

const refusals = [
  'connection_taken',
  'connection_unknown',
  'connector_exists',
  'cadence_not_allowed',
  'connector_tenant_unknown',
];

async function assertTenant(db: Database, tenantId: string): Promise<void> {
  if ((await db.tenant(tenantId, (tx) => readPlan(tx, tenantId))) !== null) return;
  throw connectorErrors.raise.connector_tenant_unknown(`There is no tenant ${tenantId}`);
}
