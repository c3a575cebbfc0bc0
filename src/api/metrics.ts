import type { FastifyRequest } from 'fastify';
import { collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import { z } from 'zod';
import { publicProblems } from '../kernel/http/replies.ts';
import type { RouteApp } from '../kernel/http/route.ts';
import type { Authenticator } from '../kernel/tenancy/service.ts';
import { isSameSecret } from '../lib/same-secret.ts';
import { apiErrors } from './errors.ts';
import { identify } from './requests/auth.ts';

/** One registry per process, with the default metrics of Node. */
export function createMetricsRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}

export interface MetricsOptions {
  registry: Registry;
  /** Null: only this machine and operators. */
  token: string | null;
  authenticator: Authenticator;
}

export function installMetrics(app: RouteApp, options: MetricsOptions): void {
  installRequestTiming(app, options.registry);
  app.route({
    method: 'GET',
    url: '/metrics',
    config: { public: true },
    schema: {
      tags: ['operations'],
      summary: 'Metrics in the Prometheus text format',
      description:
        'With METRICS_TOKEN as bearer; without one set, from this machine (a local Host, and no header of a proxy) ' +
        'or with an operator’s token.',
      produces: ['text/plain'],
      response: { 200: z.string(), ...publicProblems(401, 403) },
    },
    handler: async (request, reply) => {
      await refuseStrangers(request, options);
      return reply.type(options.registry.contentType).send(await options.registry.metrics());
    },
  });
}

function installRequestTiming(app: RouteApp, registry: Registry): void {
  const name = 'sluice_http_request_duration_seconds';
  const durations =
    (registry.getSingleMetric(name) as Histogram<'method' | 'route' | 'status'> | undefined) ??
    new Histogram({
      name,
      help: 'Time from the request’s headers to the end of the response',
      labelNames: ['method', 'route', 'status'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers: [registry],
    });
  app.addHook('onResponse', async (request, reply) => {
    // The pattern and never the path: ids in labels would make a series each.
    const route = request.routeOptions.url ?? 'unknown';
    durations.observe(
      { method: request.method, route, status: String(reply.statusCode) },
      reply.elapsedTime / 1000,
    );
  });
}

async function refuseStrangers(request: FastifyRequest, options: MetricsOptions): Promise<void> {
  if (options.token !== null && isSameSecret(request.headers.authorization ?? '', `Bearer ${options.token}`))
    return;
  if (options.token === null && request.headers.authorization === undefined && isThisMachine(request)) return;
  const principal = await identify(request, options.authenticator);
  if (principal.role === 'operator') return;
  throw apiErrors.raise.forbidden(
    `The role ${principal.role} may not read metrics; allowed: operator, or the bearer METRICS_TOKEN`,
  );
}

/** A proxy on this machine is a loopback peer as well. It asks for somebody else, or under the server's public name. */
function isThisMachine({ socket, headers }: FastifyRequest): boolean {
  const isLoopback = socket.remoteAddress === '::1' || /^(::ffff:)?127\./.test(socket.remoteAddress ?? '');
  return isLoopback && localHost.test(headers.host ?? '') && !Object.keys(headers).some(isOfProxy);
}

const localHost = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d{1,5})?$/i;

/** What proxies, balancers and content networks add; a scraper on this machine sends none of it. */
const proxyHeaders =
  /^(via|forwarded|x-forwarded(-.*)?|x-real-ip|x-original-.*|x-envoy-.*|x-amzn-.*|(.*-)?client-ip|cf-.*)$/;

function isOfProxy(name: string): boolean {
  return proxyHeaders.test(name);
}
