import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { listOf, pageOf, pageQuery, pageRequest, problems, timestamp } from '../../kernel/http/replies.ts';
import { principalOf, type RouteApp, type RouteDeps, type RouteModule } from '../../kernel/http/route.ts';
import type { JobsDeps } from '../../kernel/jobs/dispatch/service.ts';
import type { Job } from '../../kernel/jobs/types.ts';
import type { Database } from '../../lib/postgres/db.ts';
import { toCamelCase } from '../../lib/snake-case.ts';
import { canonicalConnectionId } from './connection-id.ts';
import { inspectConnection } from './connections/inspection.ts';
import { type ConnectionRouteDeps, connectionRoutes } from './connections/routes.ts';
import { changeFields, connectorFields, connectorFormParts, wishOf } from './form.ts';
import { serverRoutes } from './servers/routes.ts';
import { assertServer, type ServerDeps } from './servers/service.ts';
import {
  assertMayEnrol,
  changeConnector,
  createConnector,
  getConnector,
  previewSchedule,
  removeConnector,
  syncNow,
} from './service.ts';
import { listConnectors, listLastJobs } from './store.ts';
import { syncRoutes } from './sync/routes.ts';
import type { Connector, ConnectorKey } from './types.ts';
import {
  connectorReply,
  enrolledConnectorReply,
  type LastSync,
  renderConnector,
  renderSync,
  syncReply,
} from './views.ts';

export interface ConnectorRouteDeps extends JobsDeps, ConnectionRouteDeps, ServerDeps {}

const tags = ['connectors'];
const params = z.strictObject({ connector_id: connectorFormParts.id });

export function connectorRoutes(deps: ConnectorRouteDeps): RouteModule {
  return (app, routeDeps) => {
    installCreation(app, deps);
    installReading(app, routeDeps);
    installChanges(app, deps);
    installPreview(app, deps);
    installSyncNow(app, deps);
    serverRoutes(app, deps);
    syncRoutes(app, routeDeps);
    connectionRoutes(app, deps, routeDeps);
  };
}

function keyOf(request: FastifyRequest & { params: { connector_id: string } }): ConnectorKey {
  return { tenantId: principalOf(request).tenantId, connectorId: request.params.connector_id };
}

function installCreation(app: RouteApp, deps: ConnectorRouteDeps): void {
  const place = ({ connectorId }: Connector) => ({
    location: `/api/connectors/${encodeURIComponent(connectorId)}`,
  });
  app.route({
    method: 'POST',
    url: '/api/connectors',
    config: { action: 'connector.manage', idempotent: true },
    schema: {
      tags,
      summary: 'Enrol an Airbyte connection as a connector',
      body: z.strictObject(connectorFields),
      response: { 201: enrolledConnectorReply, ...problems(409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const principal = principalOf(request);
      // A tenant's own server has no connections of others.
      if (request.body.airbyte_server === undefined) assertMayEnrol(deps.enrolment, principal);
      const who = { tenantId: principal.tenantId, createdBy: principal.userId };
      const wish = wishOf(request.body);
      const server = wish.airbyteServer ?? null;
      if (server !== null) await assertServer(deps, { tenantId: principal.tenantId, server });
      const home = await deps.directory.find({ tenantId: principal.tenantId, server });
      const { warnings, workspaceId } = await inspectConnection(
        home?.client ?? null,
        canonicalConnectionId(wish.airbyteConnectionId),
      );
      const render = (made: Connector) => ({ ...renderConnector(made), warnings });
      const keep = request.receipt.keeping(201, render, place);
      const connector = await createConnector(deps, { ...who, workspaceId }, wish, keep);
      return reply.code(201).headers(place(connector)).send(render(connector));
    },
  });
}

function installReading(app: RouteApp, { db, cursors }: RouteDeps): void {
  const list = 'connectors';
  app.route({
    method: 'GET',
    url: '/api/connectors',
    config: { action: 'connector.read' },
    schema: {
      tags,
      summary: 'List connectors by their ids, each with its last sync',
      querystring: z.strictObject(pageQuery),
      response: { 200: listOf(connectorReply), ...problems() },
    },
    handler: async (request) => {
      const { tenantId } = principalOf(request);
      const page = pageRequest(request.query, { list, cursors });
      const rows = await db.read(tenantId, (tx) => listConnectors(tx, { tenantId, ...page }));
      const last = await lastSyncs(db, tenantId, rows);
      const render = (row: Connector) => renderConnector(row, last.get(row.connectorId));
      const { limit } = request.query;
      return pageOf(rows, { limit, list, cursors, key: (row) => row.connectorId, render });
    },
  });
  app.route({
    method: 'GET',
    url: '/api/connectors/:connector_id',
    config: { action: 'connector.read' },
    schema: { tags, summary: 'Get a connector', params, response: { 200: connectorReply, ...problems(404) } },
    handler: async (request) => {
      const connector = await getConnector({ db }, keyOf(request));
      const last = await lastSyncs(db, connector.tenantId, [connector]);
      return renderConnector(connector, last.get(connector.connectorId));
    },
  });
}

async function lastSyncs(
  db: Database,
  tenantId: string,
  connectors: readonly Connector[],
): Promise<Map<string, LastSync>> {
  const connectorIds = connectors.map(({ connectorId }) => connectorId);
  const rows = await db.read(tenantId, (tx) => listLastJobs(tx, { tenantId, connectorIds }));
  return new Map(rows.map((row) => [row.connectorId, row]));
}

function installChanges(app: RouteApp, deps: ConnectorRouteDeps): void {
  app.route({
    method: 'PATCH',
    url: '/api/connectors/:connector_id',
    config: { action: 'connector.manage' },
    schema: {
      tags,
      summary: 'Change a connector; its Airbyte connection cannot be changed',
      params,
      body: z.strictObject(changeFields),
      response: { 200: connectorReply, ...problems(404, 413, 415, 422) },
    },
    handler: async (request) => {
      const connector = await changeConnector(deps, keyOf(request), toCamelCase(request.body));
      const last = await lastSyncs(deps.db, connector.tenantId, [connector]);
      return renderConnector(connector, last.get(connector.connectorId));
    },
  });
  app.route({
    method: 'DELETE',
    url: '/api/connectors/:connector_id',
    config: { action: 'connector.manage' },
    schema: {
      tags,
      summary: 'Delete a connector that has no active sync; its history stays',
      params,
      response: { 204: z.null(), ...problems(404, 409) },
    },
    handler: async (request, reply) => {
      await removeConnector(deps, keyOf(request));
      return reply.code(204).send(null);
    },
  });
}

function installPreview(app: RouteApp, deps: ConnectorRouteDeps): void {
  app.route({
    method: 'POST',
    url: '/api/connectors/preview',
    config: { action: 'connector.read' },
    schema: {
      tags,
      summary: 'The next five syncs of a schedule, before it is saved',
      body: z.strictObject({
        cadence_hours: changeFields.cadence_hours,
        cron: changeFields.cron,
        time_zone: changeFields.time_zone,
      }),
      response: {
        200: z.object({
          next_runs: z.array(timestamp),
          minimum_hours: z.number(),
          jitter_seconds: z
            .number()
            .describe('Each sync starts at most so much later, the same for every sync of a connector'),
        }),
        ...problems(413, 415, 422),
      },
    },
    handler: async (request) => {
      const { tenantId } = principalOf(request);
      const { cadence_hours: cadenceHours = null, cron = null, time_zone: timeZone = 'UTC' } = request.body;
      const { ticks, minimumHours, mostJitterMs } = await previewSchedule(deps, tenantId, {
        cadenceHours,
        cron,
        timeZone,
      });
      return {
        next_runs: ticks.map((tick) => tick.toISOString()),
        minimum_hours: minimumHours,
        jitter_seconds: Math.round(mostJitterMs / 1000),
      };
    },
  });
}

function installSyncNow(app: RouteApp, deps: ConnectorRouteDeps): void {
  const place = ({ jobId }: Job) => ({ location: `/api/syncs/${jobId}` });
  app.route({
    method: 'POST',
    url: '/api/connectors/:connector_id/sync',
    config: { action: 'connector.sync', idempotent: true },
    schema: {
      tags,
      summary: 'Sync now; 409 with the active job when there is one',
      params,
      body: z.strictObject({ correlation_id: connectorFormParts.id.optional() }).nullish(),
      response: { 202: syncReply, ...problems(404, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const { userId } = principalOf(request);
      const correlationId = request.body?.correlation_id;
      const wish = { createdBy: userId, userId, correlationId, ipAddress: request.ip };
      const keep = request.receipt.keeping(202, renderSync, place);
      const job = await syncNow(deps, keyOf(request), wish, keep);
      return reply.code(202).headers(place(job)).send(renderSync(job));
    },
  });
}
