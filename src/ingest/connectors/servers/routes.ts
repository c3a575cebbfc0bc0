import { z } from 'zod';
import { problems, shownAs, timestamp } from '../../../kernel/http/replies.ts';
import { principalOf, type RouteApp } from '../../../kernel/http/route.ts';
import { storedText } from '../../../kernel/http/stored-text.ts';
import type { SeesName } from '../../../kernel/secrets/types.ts';
import { airbyteStates } from '../airbyte/check.ts';
import { checkServer, readServers, removeServer, type ServerDeps, saveServer } from './service.ts';
import { type AirbyteServer, serverAuths } from './types.ts';

const tags = ['connectors'];
const name = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
    'must be 1 to 100 letters, digits, dots, dashes and underscores',
  );
const params = z.strictObject({ server: name });
const secretName = storedText(200).min(1).describe('The name of a stored secret, bound to this host');

const serverForm = z
  .strictObject({
    base_url: storedText(2_000)
      .refine((text) => /^https?:\/\//i.test(text) && URL.canParse(text), 'must be an http(s) address')
      .meta({ format: 'uri' })
      .describe('Of the public API; of a self-managed server it ends in /api/public/v1'),
    auth: z
      .enum(serverAuths)
      .describe('token; client: id and secret of an application; basic: user and password'),
    identity: storedText(500).min(1).nullish().describe('The client’s id or the user’s name'),
    secret: secretName,
    workspace_id: storedText(200).min(1).nullish(),
  })
  .refine(({ auth, identity }) => auth === 'token' || Boolean(identity), {
    path: ['identity'],
    message: 'must be the id of the client or the name of the user',
  });

const serverReply = z
  .object({
    server: z.string(),
    base_url: z.string(),
    auth: z.enum(serverAuths),
    identity: z.string().nullable(),
    secret: z.string().nullable().describe('Null for those who may not use it'),
    workspace_id: z.string().nullable(),
    created_by: z.string(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'AirbyteServer' });

const findingReply = z
  .object({ state: z.enum(airbyteStates), message: z.string(), remedy: z.string() })
  .meta({ id: 'AirbyteFinding' });

export function serverRoutes(app: RouteApp, deps: ServerDeps): void {
  installReading(app, deps);
  installChanges(app, deps);
  installCheck(app, deps);
}

function render(server: AirbyteServer, sees: SeesName): z.output<typeof serverReply> {
  const secret = sees(server.secretName) ? server.secretName : null;
  return { ...shownAs(serverReply, server), secret };
}

function installReading(app: RouteApp, deps: ServerDeps): void {
  app.route({
    method: 'GET',
    url: '/api/airbyte-servers',
    config: { action: 'connector.manage' },
    schema: {
      tags,
      summary: 'List the tenant’s own Airbyte servers',
      response: { 200: z.object({ data: z.array(serverReply) }), ...problems() },
    },
    handler: async (request) => {
      const person = principalOf(request);
      const sees = await deps.secrets.visibleTo(person);
      const servers = await readServers(deps, person.tenantId);
      return { data: servers.map((server) => render(server, sees)) };
    },
  });
}

function installChanges(app: RouteApp, deps: ServerDeps): void {
  app.route({
    method: 'PUT',
    url: '/api/airbyte-servers/:server',
    config: { action: 'connector.manage' },
    schema: {
      tags,
      summary: 'Create or change an Airbyte server of the tenant',
      params,
      body: serverForm,
      response: { 200: serverReply, 201: serverReply, ...problems(403, 404, 409, 413, 415, 422) },
    },
    handler: async (request, reply) => {
      const { tenantId, userId, role, ...person } = principalOf(request);
      const {
        base_url: baseUrl,
        auth,
        identity = null,
        secret,
        workspace_id: workspaceId = null,
      } = request.body;
      const { isNew, ...saved } = await saveServer(deps, {
        tenantId,
        server: request.params.server,
        baseUrl,
        auth,
        identity: auth === 'token' ? null : identity,
        secretName: secret,
        workspaceId,
        createdBy: userId,
        role,
      });
      const sees = await deps.secrets.visibleTo({ ...person, tenantId, role });
      return reply.code(isNew ? 201 : 200).send(render(saved, sees));
    },
  });
  app.route({
    method: 'DELETE',
    url: '/api/airbyte-servers/:server',
    config: { action: 'connector.manage' },
    schema: {
      tags,
      summary: 'Delete an Airbyte server that no connector uses',
      params,
      response: { 204: z.null(), ...problems(404, 409) },
    },
    handler: async (request, reply) => {
      await removeServer(deps, { tenantId: principalOf(request).tenantId, server: request.params.server });
      return reply.code(204).send(null);
    },
  });
}

function installCheck(app: RouteApp, deps: ServerDeps): void {
  app.route({
    method: 'POST',
    url: '/api/airbyte-servers/:server/check',
    config: { action: 'connector.manage' },
    schema: {
      tags,
      summary: 'Ask the server whether its address, credentials and workspace are right',
      params,
      response: { 200: findingReply, ...problems(404) },
    },
    handler: (request) =>
      checkServer(deps, { tenantId: principalOf(request).tenantId, server: request.params.server }),
  });
}
