import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { problems } from '../../kernel/http/replies.ts';
import type { RouteModule } from '../../kernel/http/route.ts';
import { createLoginUrl } from '../../kernel/tenancy/login-links.ts';
import { mintToken, type TokenSettings } from '../../kernel/tenancy/tokens.ts';
import { systemClock } from '../../lib/timing/clock.ts';
import { demoErrors } from './errors.ts';
import { type DemoDeps, readDemo, removeDemo, startDemo } from './service.ts';
import { type DemoCall, demoAdmin, demoTenant } from './types.ts';

const tags = ['demo'];
const action = 'tenant.manage' as const;
const tokenSeconds = 300;

export interface DemoRouteDeps extends DemoDeps {
  tokens: TokenSettings;
}

const stateReply = z.object({
  state: z
    .enum(['absent', 'present', 'name_taken'])
    .describe('name_taken: a tenant of that name is somebody’s'),
  tenant_id: z.string(),
  name: z.string(),
});

export function demoRoutes(deps: DemoRouteDeps): RouteModule {
  return (app) => {
    app.route({
      method: 'GET',
      url: '/api/demo',
      config: { action },
      schema: { tags, summary: 'Whether there is a demo', response: { 200: stateReply, ...problems() } },
      handler: async () => ({
        state: await readDemo(deps),
        tenant_id: demoTenant.tenantId,
        name: demoTenant.name,
      }),
    });
    app.route({
      method: 'POST',
      url: '/api/demo',
      config: { action },
      schema: {
        tags,
        summary: 'Start the demo: one tenant with life in all five pipelines',
        description:
          'Creates the tenant northwind with an Airbyte, a price service and a site of its own in this process. Only ' +
          'this tenant may call them. If the demo is there already, only a new login link is made.',
        response: {
          200: stateReply.extend({
            login: z.string().describe('Path and code that log in as its admin, once'),
          }),
          ...problems(409),
        },
      },
      handler: async (request) => {
        await startDemo(deps, await callerOf(request.server as unknown as FastifyInstance, deps.tokens));
        const login = await createLoginUrl(
          { db: deps.db, clock: systemClock },
          { url: '', subject: demoAdmin },
        );
        return { state: 'present' as const, tenant_id: demoTenant.tenantId, name: demoTenant.name, login };
      },
    });
    app.route({
      method: 'DELETE',
      url: '/api/demo',
      config: { action },
      schema: {
        tags,
        summary: 'Remove the demo and everything of it',
        response: { 204: z.null(), ...problems(404) },
      },
      handler: async (_request, reply) => {
        await removeDemo(deps);
        return reply.code(204).send(null);
      },
    });
  };
}

/** Calls the API of this process like any client, with every check, but without a connection. */
async function callerOf(server: FastifyInstance, tokens: TokenSettings): Promise<DemoCall> {
  const token = await mintToken(tokens, { ...demoAdmin, lifetimeSeconds: tokenSeconds });
  return async ({ method, path, body, key, allow = [] }) => {
    const sent = await payloadOf(body);
    const answer = await server.inject({
      method,
      url: path,
      headers: {
        authorization: `Bearer ${token}`,
        ...sent.headers,
        ...(key === undefined ? {} : { 'idempotency-key': `demo-${key}` }),
      },
      ...(sent.payload === null ? {} : { payload: sent.payload }),
    });
    const isFine = answer.statusCode < 300 || allow.includes(answer.statusCode);
    if (isFine) return answer.body === '' ? {} : answer.json();
    const { detail, title } = answer.json<{ detail?: string; title?: string }>();
    throw demoErrors.raise.demo_step_failed(
      `${method} ${path} was answered ${answer.statusCode}: ${detail ?? title}`,
    );
  };
}

async function payloadOf(
  body: object | FormData | undefined,
): Promise<{ headers: Record<string, string>; payload: Buffer | null }> {
  if (body === undefined) return { headers: {}, payload: null };
  const type = 'content-type';
  if (!(body instanceof FormData)) {
    return { headers: { [type]: 'application/json' }, payload: Buffer.from(JSON.stringify(body)) };
  }
  const form = new Response(body);
  return {
    headers: { [type]: form.headers.get(type) ?? '' },
    payload: Buffer.from(await form.arrayBuffer()),
  };
}
