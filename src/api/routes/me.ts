import { z } from 'zod';
import { problems, shownAs } from '../../kernel/http/replies.ts';
import { principalOf, type RouteModule } from '../../kernel/http/route.ts';
import { rightsOf } from '../../kernel/tenancy/rights.ts';
import { getTenant } from '../../kernel/tenancy/service.ts';
import { endSession } from '../../kernel/tenancy/sessions.ts';
import { roles } from '../../kernel/tenancy/types.ts';
import { readCookie, sessionCookie, writeSessionCookie } from '../requests/cookies.ts';
import { renderTenant, tenantReply } from './tenants.ts';

const meReply = z
  .object({
    user_id: z.string(),
    tenant_id: z.string(),
    role: z.enum(roles),
    via: z.enum(['token', 'api_key', 'session']),
    name: z.string().nullable(),
    email: z.string().nullable(),
    plan: tenantReply.shape.plan,
    tenant: tenantReply,
    rights: z.array(z.string()),
  })
  .meta({ id: 'Me' });

/** Shows who is asking, and ends a session. */
export function meRoutes({ isHttps }: { isHttps: boolean }): RouteModule {
  return (app, { db }) => {
    app.route({
      method: 'GET',
      url: '/api/me',
      config: { action: 'tenant.read_own' },
      schema: {
        tags: ['session'],
        summary: 'Who you are, your tenant, plan and rights',
        response: { 200: meReply, ...problems() },
      },
      handler: async (request) => {
        const principal = principalOf(request);
        const tenant = renderTenant(await getTenant(db, principal, principal.tenantId));
        return {
          ...shownAs(meReply, principal),
          name: principal.name ?? null,
          email: principal.email ?? null,
          plan: tenant.plan,
          tenant,
          rights: rightsOf(principal.role),
        };
      },
    });
    app.route({
      method: 'POST',
      url: '/api/session/logout',
      config: { action: 'session.end' },
      schema: {
        tags: ['session'],
        summary: 'End the session of the cookie; a token stays valid until it expires',
        response: { 204: z.null().describe('Logged out'), ...problems() },
      },
      handler: async (request, reply) => {
        const session = readCookie(request.headers.cookie, sessionCookie);
        if (session !== null) await endSession(db, session);
        const secure = isHttps || request.protocol === 'https';
        reply.header('set-cookie', writeSessionCookie({ value: '', maxAgeSeconds: 0, secure }));
        return reply.code(204).send(null);
      },
    });
  };
}
