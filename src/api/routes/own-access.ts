import { z } from 'zod';
import { problems, shownAs, timestamp } from '../../kernel/http/replies.ts';
import { principalOf, type RouteModule } from '../../kernel/http/route.ts';
import { listOwnKeys, revokeOwnKey } from '../../kernel/tenancy/service.ts';
import { endOtherSessions, endOwnSession, listOwnSessions } from '../../kernel/tenancy/sessions.ts';
import { readCookie, sessionCookie } from '../requests/cookies.ts';
import { apiKeyReply, renderApiKey } from './api-keys.ts';

const tags = ['session'];
const action = 'session.end';
const sessionReply = z
  .object({
    session_id: z.uuid(),
    created_at: timestamp,
    expires_at: timestamp,
    agent: z.string().nullable().describe('What the browser or program called itself at login'),
    is_current: z.boolean().describe('The session of this request'),
  })
  .meta({ id: 'OwnSession' });
const sessionParams = z.strictObject({ session_id: z.uuid() });
const keyParams = z.strictObject({ key_id: z.uuid() });

/** What gives somebody access, listed and ended by themselves. */
export const ownAccessRoutes: RouteModule = (app, deps) => {
  installSessions(app, deps);
  installKeys(app, deps);
};

function installSessions(...[app, { db }]: Parameters<RouteModule>): void {
  app.route({
    method: 'GET',
    url: '/api/me/sessions',
    config: { action },
    schema: {
      tags,
      summary: 'List your open sessions, the newest first',
      response: { 200: z.object({ data: z.array(sessionReply) }), ...problems() },
    },
    handler: async (request) => {
      const sessions = await listOwnSessions(db, ownerOf(request));
      return { data: sessions.map((session) => shownAs(sessionReply, session)) };
    },
  });
  app.route({
    method: 'DELETE',
    url: '/api/me/sessions/:session_id',
    config: { action },
    schema: {
      tags,
      summary: 'End one of your sessions',
      params: sessionParams,
      response: { 204: z.null().describe('Ended'), ...problems(404) },
    },
    handler: async (request, reply) => {
      const { tenantId, userId } = principalOf(request);
      await endOwnSession(db, { tenantId, userId, sessionId: request.params.session_id });
      return reply.code(204).send(null);
    },
  });
  app.route({
    method: 'DELETE',
    url: '/api/me/sessions',
    config: { action },
    schema: {
      tags,
      summary: 'End all your sessions but the one of this request',
      response: { 200: z.object({ ended: z.int() }), ...problems() },
    },
    handler: async (request) => ({ ended: await endOtherSessions(db, ownerOf(request)) }),
  });
}

function installKeys(...[app, { db }]: Parameters<RouteModule>): void {
  app.route({
    method: 'GET',
    url: '/api/me/api-keys',
    config: { action },
    schema: {
      tags,
      summary: 'List the API keys that work and that you, or keys of yours, have made',
      response: { 200: z.object({ data: z.array(apiKeyReply) }), ...problems() },
    },
    handler: async (request) => {
      const { tenantId, userId } = principalOf(request);
      return { data: (await listOwnKeys(db, { tenantId, userId })).map(renderApiKey) };
    },
  });
  app.route({
    method: 'DELETE',
    url: '/api/me/api-keys/:key_id',
    config: { action },
    schema: {
      tags,
      summary: 'Revoke one of your API keys',
      params: keyParams,
      response: { 204: z.null().describe('Revoked'), ...problems(404) },
    },
    handler: async (request, reply) => {
      const { tenantId, userId } = principalOf(request);
      await revokeOwnKey(db, { tenantId, userId, keyId: request.params.key_id });
      return reply.code(204).send(null);
    },
  });
}

function ownerOf(request: Parameters<typeof principalOf>[0]) {
  const { tenantId, userId, via } = principalOf(request);
  const current = via === 'session' ? readCookie(request.headers.cookie, sessionCookie) : null;
  return { tenantId, userId, current };
}
