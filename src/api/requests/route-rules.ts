import type { FastifyInstance, RouteOptions } from 'fastify';
import { z } from 'zod';

/** A route as the tests over all routes see it. */
export interface RegisteredRoute {
  method: string;
  url: string;
  action: string | null;
}

/** The largest JSON body of a route that takes no data, by who may send it: a login code or a name is short. */
const smallBodyBytes = { anybody: 16 * 1024, principal: 64 * 1024 };

/**
 * Checks every route when it is registered, so that a forgotten right or reply stops the start and not
 * a user. Also refuses query parameters on routes that declare none, and gives each route its
 * limit of the body. Returns the list, which grows with each route.
 */
export function installRouteRules(
  app: FastifyInstance,
  { maxBodyBytes }: { maxBodyBytes: number },
): RegisteredRoute[] {
  const routes: RegisteredRoute[] = [];
  app.addHook('onRoute', (route) => {
    refuseIncomplete(route);
    const action = route.config?.action;
    if (action !== undefined && route.schema && !route.schema.querystring) {
      route.schema.querystring = z.strictObject({});
    }
    route.bodyLimit ??= Math.min(maxBodyBytes, route.config?.takesData ? maxBodyBytes : smallBody(route));
    for (const method of [route.method].flat())
      routes.push({ method, url: route.url, action: action ?? null });
  });
  return routes;
}

function smallBody({ config }: RouteOptions): number {
  return smallBodyBytes[config?.action === undefined ? 'anybody' : 'principal'];
}

function refuseIncomplete(route: RouteOptions): void {
  const name = `${[route.method].flat().join('/')} ${route.url}`;
  const { action, public: isPublic, idempotent } = route.config ?? {};
  if ((action === undefined) === (isPublic === undefined)) {
    throw new Error(
      `${name} must say in its config either which right it needs (action) or that it is public`,
    );
  }
  if (idempotent !== undefined && action === undefined) {
    throw new Error(`${name} is public and cannot be idempotent: an Idempotency-Key belongs to a principal`);
  }
  const statuses = Object.keys((route.schema?.response as Record<string, unknown> | undefined) ?? {});
  const missing = [400, 429, 500, 503, ...(action === undefined ? [] : [401, 403])]
    .map(String)
    .filter((status) => !statuses.includes(status));
  if (!statuses.some((status) => Number(status) < 400) || missing.length > 0) {
    throw new Error(
      `${name} lacks schemas of its replies: one below 400, and ${missing.join(', ') || 'problems'}. ` +
        'problems() in kernel/http/replies.ts adds those of errors.',
    );
  }
}
