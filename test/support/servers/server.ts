import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import { afterAll, beforeAll } from 'vitest';
import type { ReadyReport } from '../../../src/api/health.ts';
import { createMetricsRegistry } from '../../../src/api/metrics.ts';
import { routeModules } from '../../../src/api/route-modules.ts';
import { createServer, type ServerConfig } from '../../../src/api/server.ts';
import { SseStreams } from '../../../src/api/sse.ts';
import { openDemoHouse } from '../../../src/ingest/demo/open.ts';
import { createFiles } from '../../../src/kernel/files/backends.ts';
import type { RouteModule } from '../../../src/kernel/http/route.ts';
import { parseSecretKeys } from '../../../src/kernel/secrets/stored-secrets.ts';
import { TenantSecrets } from '../../../src/kernel/secrets/tenant-secrets.ts';
import { type Authenticator, createAuthenticator } from '../../../src/kernel/tenancy/service.ts';
import { mintToken, type TokenSettings } from '../../../src/kernel/tenancy/tokens.ts';
import type { Role } from '../../../src/kernel/tenancy/types.ts';
import { type Clock, systemClock } from '../../../src/lib/timing/clock.ts';
import { testAdapterHouse } from '../worlds/adapter-house.ts';
import { testCatalogHouse } from '../worlds/catalog-house.ts';
import { testConnectorHouse } from '../worlds/connector-house.ts';
import type { TestDatabase } from '../worlds/database.ts';
import { testItemHouse } from '../worlds/item-house.ts';
import { testKernel } from '../worlds/kernel.ts';
import { testKnowledgeHouse } from '../worlds/knowledge-house.ts';
import { testOwnHouse } from '../worlds/own-house.ts';
import { testPullHouse } from '../worlds/pull-house.ts';
import { testScrapeHouse } from '../worlds/scrape-house.ts';
import { testUploadHouse } from '../worlds/upload-house.ts';
import { testWebhooks } from '../worlds/webhooks.ts';

export interface TestServer {
  readonly app: FastifyInstance;
  readonly authenticator: Authenticator;
  /** Of the listening server, without a slash at its end. */
  readonly url: string;
  readonly tokens: TokenSettings;
  token(claims: TestClaims): Promise<string>;
  /** The header that `app.inject` and `fetch` take. */
  bearer(claims: TestClaims): Promise<{ authorization: string }>;
}

export interface TestClaims {
  tenantId: string;
  role?: Role;
  userId?: string;
  lifetimeSeconds?: number;
  name?: string;
  email?: string;
  groups?: string[];
}

export interface TestServerOptions {
  config?: Partial<ServerConfig>;
  routes?: RouteModule[];
  tokens?: Partial<TokenSettings>;
  clock?: Clock;
  isReady?: () => Promise<ReadyReport>;
  consoleDir?: string;
}

export const testTokens: TokenSettings = {
  secret: 'a secret of the tests, long enough for HS256',
  issuer: 'sluice',
  audience: 'sluice',
  jwksUrl: null,
};

/** The whole HTTP side on a test file's database, listening on a free port. */
export function useServer(database: TestDatabase, options: TestServerOptions = {}): TestServer {
  const tokens = { ...testTokens, ...options.tokens };
  const clock = options.clock ?? systemClock;
  let running: { app: FastifyInstance; authenticator: Authenticator; url: string } | undefined;
  const now = () => {
    if (!running) throw new Error('The test server is available only after beforeAll has run');
    return running;
  };
  beforeAll(async () => {
    const { db } = database;
    const authenticator = createAuthenticator({ db, clock, tokens });
    const app = await createServer({
      config: { ...testConfig, ...options.config },
      db,
      logger: pino({ level: 'silent' }),
      authenticator,
      metrics: createMetricsRegistry(),
      routes: options.routes ?? (await everyRoute(database, authenticator)),
      version: '0.0.0-test',
      isReady: options.isReady ?? (async () => ({ ready: true, checks: { database: { state: 'ok' } } })),
      clock,
      consoleDir: options.consoleDir,
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    running = { app, authenticator, url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}` };
  });
  afterAll(async () => {
    await running?.app.close();
  });
  const token = (claims: TestClaims) =>
    mintToken(tokens, { userId: 'a-user', role: 'admin', lifetimeSeconds: 600, ...claims });
  return {
    tokens,
    token,
    bearer: async (claims) => ({ authorization: `Bearer ${await token(claims)}` }),
    get app() {
      return now().app;
    },
    get authenticator() {
      return now().authenticator;
    },
    get url() {
      return now().url;
    },
  };
}

/** As the product has them, on a kernel that takes no jobs by itself. */
async function everyRoute(database: TestDatabase, authenticator: Authenticator): Promise<RouteModule[]> {
  const { db } = database;
  const files = createFiles({ filesBackend: 'local', dataDir: tmpdir() });
  const kernel = testKernel(database);
  const items = testItemHouse(db, { kernel });
  const uploads = testUploadHouse(db, { kernel, files });
  const adapters = testAdapterHouse(db, { items, uploads, kernel });
  return routeModules({
    kernel,
    files,
    admissions: authenticator.admissions,
    // No stream is opened: `inject` would wait for the end of it for ever.
    streams: new SseStreams({ authenticator, maxStreams: 0 }),
    secrets: new TenantSecrets({ db, keys: parseSecretKeys('ab'.repeat(32)) }),
    webhooks: testWebhooks(db),
    houses: [
      items,
      testCatalogHouse(db, { kernel }),
      uploads,
      testConnectorHouse(db, { kernel }),
      testKnowledgeHouse(db, { kernel, files }),
      testScrapeHouse(db, { kernel }),
      adapters,
      testPullHouse(db, { uploads, adapters, kernel }),
      await testOwnHouse(kernel),
      openDemoHouse({
        db,
        files,
        logger: pino({ level: 'silent' }),
        secret: 'of the tests',
        tokens: testTokens,
      }),
    ],
  });
}

const testConfig: ServerConfig = {
  maxBodyBytes: 64 * 1024,
  rateLimitPerMinute: 1_000_000,
  tenantRequestsPerMinute: 1_000_000,
  publicUrl: null,
  trustProxy: false,
  metricsToken: null,
  slowBodySeconds: 30,
  tenantConcurrentSearches: 8,
  tenantConcurrentUploads: 16,
  slowBodyBytesPerSecond: 1024,
  secret: 'the installation secret of the tests',
  oidcIssuer: null,
  oidcClientId: null,
  oidcClientSecret: null,
  oidcRoles: null,
  oidcTenant: 'default',
  oidcGroupsClaim: 'groups',
  oidcScopes: 'openid profile email',
  oidcName: '',
};
