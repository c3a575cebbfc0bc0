import { randomUUID } from 'node:crypto';
import multipart from '@fastify/multipart';
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from '@fastify/type-provider-zod';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
} from 'fastify';
import type { Registry } from 'prom-client';
import { createCursors } from '../kernel/http/cursor.ts';
import type { RouteApp, RouteModule } from '../kernel/http/route.ts';
import type { KernelConfig } from '../kernel/settings.ts';
import type { OidcConfig } from '../kernel/tenancy/oidc/settings.ts';
import { createOidcSignIn } from '../kernel/tenancy/oidc/sign-in.ts';
import type { Authenticator } from '../kernel/tenancy/service.ts';
import type { Database } from '../lib/postgres/db.ts';
import { type Clock, systemClock } from '../lib/timing/clock.ts';
import { installConsole } from './console/console.ts';
import { installLogin } from './console/login.ts';
import { installOidcLogin } from './console/oidc-login.ts';
import { installPages } from './console/pages.ts';
import { installSecurityHeaders, writeSecurityHeaders } from './console/security-headers.ts';
import { installDocRoutes } from './docs/doc-routes.ts';
import { installOpenApi, installOpenApiRoutes } from './docs/openapi.ts';
import { apiErrors } from './errors.ts';
import { installHealth, type ReadyReport } from './health.ts';
import { installMetrics } from './metrics.ts';
import { routedUrl } from './moved-paths.ts';
import { installProblems, sendProblem } from './problem.ts';
import { installAuthentication } from './requests/auth.ts';
import { answerBrokenRequest } from './requests/broken-request.ts';
import { installIdempotency } from './requests/idempotency.ts';
import { parseBody } from './requests/json-body.ts';
import { createRateLimiter } from './requests/rate-limit.ts';
import { installRouteRules, type RegisteredRoute } from './requests/route-rules.ts';
import { installSlowBodies } from './requests/slow-bodies.ts';
import { installTenantShares } from './requests/tenant-shares.ts';
import { apiKeyRoutes } from './routes/api-keys.ts';
import { invitationRoutes } from './routes/invitations.ts';
import { meRoutes } from './routes/me.ts';
import { ownAccessRoutes } from './routes/own-access.ts';
import { tenantRoutes } from './routes/tenants.ts';
import { userRoutes } from './routes/users.ts';
import { workspaceRoutes } from './routes/workspaces.ts';

/** The part of the configuration that the server reads. */
export interface ServerConfig
  extends Pick<
      KernelConfig,
      | 'maxBodyBytes'
      | 'rateLimitPerMinute'
      | 'tenantRequestsPerMinute'
      | 'publicUrl'
      | 'trustProxy'
      | 'metricsToken'
      | 'slowBodySeconds'
      | 'tenantConcurrentSearches'
      | 'tenantConcurrentUploads'
      | 'slowBodyBytesPerSecond'
    >,
    OidcConfig {
  /** Signs cursors and seals stored responses: the same in every process of an installation. */
  secret: string;
}

export interface ServerDeps {
  config: ServerConfig;
  db: Database;
  logger: FastifyBaseLogger;
  authenticator: Authenticator;
  metrics: Registry;
  /** The houses' routes. */
  routes: RouteModule[];
  version: string;
  isReady: () => Promise<ReadyReport>;
  clock?: Clock;
  /** Where the console was built; console/dist of this package when it is left out. */
  consoleDir?: string;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Every route with its right, for tests that go over all of them. */
    registeredRoutes: RegisteredRoute[];
  }
}

/** The whole HTTP side, ready to listen. Throws when a route does not keep the rules. */
export async function createServer(deps: ServerDeps): Promise<FastifyInstance> {
  const { config, db, authenticator } = deps;
  const isHttps = config.publicUrl?.startsWith('https:') ?? false;
  const app = createShell(deps, { isHttps });
  const clock = deps.clock ?? systemClock;
  app.decorate('registeredRoutes', installRouteRules(app, config));
  installTenantShares(app, config);
  await app.register(multipart);
  await installOpenApi(app, { version: deps.version });
  installSlowBodies(app, config, clock);
  installProblems(app);
  installSecurityHeaders(app, { isHttps });
  installRequestLog(app);
  installAuthentication(app, { authenticator, ...createLimiters(config, clock) });
  installIdempotency(app, { db, secret: config.secret });

  const typed: RouteApp = app.withTypeProvider<ZodTypeProvider>();
  installMetrics(typed, { registry: deps.metrics, token: config.metricsToken, authenticator });
  installHealth(typed, deps);
  installPages(typed);
  installDocRoutes(typed);
  const sendPage = installConsole(typed, deps.consoleDir);
  installLogin(typed, { db, authenticator, isHttps, sendPage });
  const { admissions } = authenticator;
  installOidcLogin(typed, {
    signIn: createOidcSignIn(config, { db, clock, admissions }),
    publicUrl: config.publicUrl,
    secret: config.secret,
    isHttps,
    clock,
  });
  installOpenApiRoutes(typed);
  const routeDeps = { db, cursors: createCursors(config.secret) };
  const own = [
    meRoutes({ isHttps }),
    tenantRoutes,
    workspaceRoutes,
    userRoutes(admissions),
    invitationRoutes(config),
    apiKeyRoutes,
    ownAccessRoutes,
  ];
  for (const routes of [...own, ...deps.routes]) routes(typed, routeDeps);
  await app.ready();
  return app;
}

function createLimiters(config: ServerConfig, clock: Clock) {
  const { raise } = apiErrors;
  return {
    limiter: createRateLimiter({
      perMinute: config.rateLimitPerMinute,
      clock,
      refuse: (most, extras) =>
        raise.rate_limited(`This client may make ${most} requests per minute`, extras),
    }),
    tenantLimiter: createRateLimiter({
      perMinute: config.tenantRequestsPerMinute,
      clock,
      refuse: (most, extras) =>
        raise.tenant_rate_limited(
          `All keys of this tenant may make ${most} requests per minute together (TENANT_REQUESTS_PER_MINUTE)`,
          { ...extras, details: { setting: 'TENANT_REQUESTS_PER_MINUTE', limit: most } },
        ),
    }),
  };
}

/** Longest path part: an id of 200 characters, each up to four bytes, each byte percent-encoded. */
const maxParamLength = 2400;
const maxHeaderBytes = 16 * 1024;
const maxHeaders = 100;
/** For the whole request: an hour is a gigabyte at 300 KB/s. */
const requestTimeoutMs = 3_600_000;
/** For the headers alone, and how often Node looks: a sender that drips them is gone after their sum. */
const headersTimeoutMs = 20_000;
const timeoutCheckMs = 5_000;
const requestIdShape = /^[A-Za-z0-9._-]{8,128}$/;

function createShell({ config, logger }: ServerDeps, { isHttps }: { isHttps: boolean }): FastifyInstance {
  const app = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: config.maxBodyBytes,
    trustProxy: config.trustProxy,
    routerOptions: { maxParamLength },
    rewriteUrl: ({ url = '/' }) => routedUrl(url),
    requestTimeout: requestTimeoutMs,
    http: {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: headersTimeoutMs,
      connectionsCheckingInterval: timeoutCheckMs,
    },
    requestIdHeader: false,
    genReqId: (request) => {
      const given = request.headers['x-request-id'];
      return typeof given === 'string' && requestIdShape.test(given) ? given : randomUUID();
    },
    frameworkErrors: (error, request, reply) => {
      writeSecurityHeaders(request, reply, { isHttps });
      return sendProblem(error, request, reply);
    },
    clientErrorHandler: answerBrokenRequest,
    // Readiness tells balancers to stay away; requests that still arrive while we close are served.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
  });
  app.server.maxHeadersCount = maxHeaders;
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  app.removeAllContentTypeParsers();
  const parseJson = app.getDefaultJsonParser('error', 'error');
  // JSON.parse makes `__proto__` an ordinary property; only copying it does harm.
  const parseAnyKeys = app.getDefaultJsonParser('ignore', 'error');
  app.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => {
      // Some clients name JSON even when they send nothing; the route's schema decides whether that is enough.
      if (bytes.length === 0) return undefined;
      const parser = request.routeOptions.config.anyKeys ? parseAnyKeys : parseJson;
      return parseBody(bytes, (json) => {
        let parsed: unknown;
        // It calls back at once.
        parser(request, json, (error, value) => {
          if (error) throw new SyntaxError(error.message);
          parsed = value;
        });
        return parsed;
      });
    },
  );
  return app;
}

function installRequestLog(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => {
    request.log.info(
      {
        method: request.method,
        route: request.routeOptions.url ?? null,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
        tenant_id: request.principal?.tenantId,
        user_id: request.principal?.userId,
      },
      'request',
    );
  });
}
