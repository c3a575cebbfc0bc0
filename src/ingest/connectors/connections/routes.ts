import { z } from 'zod';
import type { Cursors } from '../../../kernel/http/cursor.ts';
import { listOf, pageQuery, problems, publicProblems, timestamp } from '../../../kernel/http/replies.ts';
import { principalOf, type RouteApp, type RouteDeps } from '../../../kernel/http/route.ts';
import type { WakeUp } from '../../../kernel/jobs/wake-up.ts';
import type { CircuitBreakers } from '../../../kernel/limits/circuit-breaker.ts';
import { can } from '../../../kernel/tenancy/rights.ts';
import { toSnakeCase } from '../../../lib/snake-case.ts';
import { type AirbyteWatch, airbyteStates } from '../airbyte/check.ts';
import { connectorFields, connectorFormParts, wishOf } from '../form.ts';
import { dependency } from '../sync/airbyte-calls.ts';
import { assertHookSecret, takeNotice } from '../sync/webhook.ts';
import { type EnrolmentMode, enrolmentModes } from '../types.ts';
import { connectionReply, enrolledConnectorReply, renderConnection, renderConnector } from '../views.ts';
import { type ConnectionsDeps, importConnections, listConnections, readRateLimit } from './connections.ts';

export interface ConnectionRouteDeps extends ConnectionsDeps {
  wake: WakeUp;
  watch: AirbyteWatch;
  breakers: CircuitBreakers;
  enrolment: EnrolmentMode;
  baseUrl: string;
  hookSecret: string;
}

const tags = ['connectors'];

export function connectionRoutes(app: RouteApp, deps: ConnectionRouteDeps, { cursors }: RouteDeps): void {
  installStatus(app, deps);
  installHook(app, deps);
  installList(app, deps, cursors);
  installImport(app, deps);
}

export const statusReply = z
  .object({
    configured: z.boolean(),
    missing: z.array(z.string()).describe('Settings that have to be set'),
    base_url: z.string().nullable().describe('Shown to administrators only'),
    enrolment: z.enum(enrolmentModes),
    airbyte: z.object({
      state: z.enum(['closed', 'open', 'probing']).describe('closed: syncs run; open: they wait'),
      reason: z.string().nullable(),
      since: timestamp.nullable(),
      next_try_at: timestamp.nullable(),
      check: z
        .object({
          state: z.enum(airbyteStates),
          message: z.string().nullable().describe('Shown to administrators only: it may name hosts'),
          remedy: z.string().nullable(),
          checked_at: timestamp,
        })
        .describe('What a request to Airbyte has just shown'),
      rate_limit: z
        .object({ headers: z.record(z.string(), z.string()), status: z.int(), said_at: timestamp })
        .nullable()
        .describe('What Airbyte last said about its rate limit, to any process'),
    }),
    webhook_path: z.string().nullable().describe('For Airbyte’s notifications; shown to the operator only'),
  })
  .meta({ id: 'ConnectorStatus' });

function installStatus(app: RouteApp, deps: ConnectionRouteDeps): void {
  app.route({
    method: 'GET',
    url: '/api/connectors/status',
    config: { action: 'connector.read' },
    schema: {
      tags,
      summary: 'Whether Airbyte is configured and reachable, and what is missing',
      response: { 200: statusReply, ...problems() },
    },
    handler: async (request) => {
      const breaker = (await deps.breakers.list()).find((one) => one.dependency === dependency);
      const { role } = principalOf(request);
      const isOperator = role === 'operator';
      const seesHosts = can(role, 'installation.read');
      const { finding, at } = await deps.watch.look();
      const said = await readRateLimit(deps);
      return {
        configured: deps.client !== null,
        missing: [...deps.missing],
        base_url: seesHosts ? deps.baseUrl : null,
        enrolment: deps.enrolment,
        airbyte: {
          state: breaker?.state ?? ('closed' as const),
          // It may name the server that does not respond.
          reason: seesHosts ? (breaker?.reason ?? null) : null,
          since: breaker?.openedAt?.toISOString() ?? null,
          next_try_at: breaker?.probeAt?.toISOString() ?? null,
          check: {
            state: finding.state,
            message: seesHosts ? finding.message : null,
            remedy: seesHosts ? finding.remedy : null,
            checked_at: at.toISOString(),
          },
          rate_limit: said && { ...said, said_at: said.saidAt.toISOString() },
        },
        webhook_path: isOperator ? `/api/hooks/airbyte/${deps.hookSecret}` : null,
      };
    },
  });
}

function installHook(app: RouteApp, deps: ConnectionRouteDeps): void {
  app.route({
    method: 'POST',
    url: '/api/hooks/airbyte/:secret',
    config: { public: true },
    // Anybody may send to it, but a notification lists what failed.
    bodyLimit: 64 * 1024,
    schema: {
      tags,
      summary: 'Receive Airbyte’s notifications: a hint that a run has ended, which Airbyte then confirms',
      params: z.strictObject({ secret: z.string().min(1).max(500) }),
      body: z.unknown(),
      response: { 200: z.object({ received: z.boolean() }), ...publicProblems(404, 413, 415) },
    },
    handler: async (request) => {
      assertHookSecret(request.params.secret, deps.hookSecret);
      await takeNotice(deps, request.body);
      return { received: true };
    },
  });
}

const maxConnections = 100;
/** What is imported comes from the installation's own Airbyte. */
const { airbyte_server: _own, ...importedFields } = connectorFields;

function installList(app: RouteApp, deps: ConnectionRouteDeps, cursors: Cursors): void {
  const list = 'connections';
  app.route({
    method: 'GET',
    url: '/api/connections',
    config: { action: 'connection.import' },
    schema: {
      tags,
      summary: 'List the connections of the Airbyte workspace, with the owner of each connector',
      querystring: z.strictObject({
        limit: z.coerce.number().int().min(1).max(maxConnections).default(50),
        cursor: pageQuery.cursor,
      }),
      response: { 200: listOf(connectionReply), ...problems() },
    },
    handler: async (request) => {
      const { limit, cursor } = request.query;
      // Airbyte pages by offset, so the cursor holds one.
      const offset = cursor === undefined ? 0 : Number(cursors.decode(list, cursor)[0]);
      const { connections, hasMore } = await listConnections(deps, { limit, offset });
      return {
        data: connections.map(renderConnection),
        has_more: hasMore,
        next_cursor: hasMore ? cursors.encode(list, [offset + connections.length]) : null,
      };
    },
  });
}

function installImport(app: RouteApp, deps: ConnectionRouteDeps): void {
  const { id, name } = connectorFormParts;
  app.route({
    method: 'POST',
    url: '/api/connectors/import',
    config: { action: 'connection.import', takesData: true },
    schema: {
      tags,
      summary: 'Enrol connections of the workspace as connectors of the named tenants',
      body: z.strictObject({
        connections: z
          .array(z.strictObject({ ...importedFields, tenant_id: id, name: name.optional() }))
          .min(1)
          .max(maxConnections),
      }),
      response: {
        200: z.object({
          imported: z.array(enrolledConnectorReply),
          refused: z.array(
            z.object({
              airbyte_connection_id: z.string(),
              tenant_id: z.string(),
              code: z.string(),
              message: z.string(),
            }),
          ),
        }),
        ...problems(413, 415),
      },
    },
    handler: async (request) => {
      const wishes = request.body.connections.map(({ tenant_id: tenantId, ...wish }) => ({
        ...wishOf({ ...wish, name: wish.name ?? wish.airbyte_connection_id }),
        tenantId,
      }));
      const report = await importConnections(deps, wishes, principalOf(request).userId);
      return {
        imported: report.imported.map(({ connector, warnings }) => ({
          ...renderConnector(connector),
          warnings,
        })),
        refused: report.refused.map(toSnakeCase),
      };
    },
  });
}
