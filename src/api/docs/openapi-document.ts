import pino from 'pino';
import { Registry } from 'prom-client';
import { type AdapterHouse, openAdapterHouse } from '../../ingest/adapters/house.ts';
import { type CatalogHouse, openCatalogHouse } from '../../ingest/catalog/house.ts';
import { type ConnectorHouse, openConnectorHouse } from '../../ingest/connectors/house.ts';
import { type ItemHouse, openItemHouse } from '../../ingest/items/house.ts';
import { itemBounds } from '../../ingest/items/types.ts';
import { type KnowledgeHouse, openKnowledgeHouse } from '../../ingest/knowledge/house.ts';
import { ExactEngine } from '../../ingest/knowledge/index/vector/exact.ts';
import { openScrapeHouse, type ScrapeHouse } from '../../ingest/scrapes/house.ts';
import { openUploadHouse, type UploadHouse } from '../../ingest/uploads/house.ts';
import { createFiles } from '../../kernel/files/backends.ts';
import { Kernel } from '../../kernel/jobs/kernel.ts';
import { WakeUp } from '../../kernel/jobs/wake-up.ts';
import { CircuitBreakers } from '../../kernel/limits/circuit-breaker.ts';
import { LimitMetrics } from '../../kernel/limits/metrics.ts';
import { RateLimits } from '../../kernel/limits/rate-limits.ts';
import { parseSecretKeys } from '../../kernel/secrets/stored-secrets.ts';
import { TenantSecrets } from '../../kernel/secrets/tenant-secrets.ts';
import { createAuthenticator } from '../../kernel/tenancy/service.ts';
import { openWebhooks, type Webhooks } from '../../kernel/webhooks/webhooks.ts';
import { systemClock } from '../../lib/clock.ts';
import { createGuardedFetch } from '../../lib/fetch/guarded-fetch.ts';
import { Database } from '../../lib/postgres/db.ts';
import { createMetricsRegistry } from '../metrics.ts';
import { houseRoutes } from '../route-modules.ts';
import { createServer } from '../server.ts';
import { SseStreams } from '../sse.ts';
import { renderDocument } from './openapi.ts';

/** The text of openapi.json, from a server that is built but never listens and never reaches a database. */
export async function renderOpenApi({ version }: { version: string }): Promise<string> {
  const db = new Database({
    url: 'postgres://nobody@localhost/none',
    applicationName: 'sluice',
    maxConnections: 1,
  });
  const tokens = {
    secret: 'never used to sign anything',
    issuer: 'sluice',
    audience: 'sluice',
    jwksUrl: null,
  };
  const authenticator = createAuthenticator({ db, clock: systemClock, tokens });
  const catalogs = openCatalogHouse({ db, ingestEnabled: true, maxUploadBytes: 1 });
  const app = await createServer({
    config: {
      maxBodyBytes: 1024,
      rateLimitPerMinute: 1,
      publicUrl: null,
      trustProxy: false,
      metricsToken: null,
      secret: tokens.secret,
    },
    db,
    logger: pino({ level: 'silent' }),
    authenticator,
    metrics: createMetricsRegistry(),
    routes: houseRoutes({
      kernel: idleKernel(db),
      files: noFiles,
      admissions: authenticator.admissions,
      streams: new SseStreams({ authenticator }),
      catalogs,
      items: idleItems(db, catalogs),
      uploads: idleUploads(db),
      connectors: idleConnectors(db),
      knowledge: idleKnowledge(db),
      scrapes: idleScrapes(db),
      adapters: idleAdapters(db),
      secrets: new TenantSecrets({ db, keys: parseSecretKeys('00'.repeat(32)) }),
      webhooks: idleWebhooks(db),
    }),
    version,
    isReady: async () => ({ ready: false, checks: {} }),
  });
  try {
    return renderDocument(app);
  } finally {
    await app.close();
    await db.close();
  }
}

/** Never started, so it neither connects nor works. */
function idleKernel(db: Database): Kernel {
  return new Kernel({
    db,
    directUrl: '',
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    pipelines: [],
    version: '',
    leaseMs: 1_000,
    heartbeatMs: 500,
    pollMs: 1_000,
    concurrency: 1,
    tenantLimit: 1,
    maxStrikes: 1,
    maxQueued: 1,
  });
}

function idleItems(db: Database, { lookups }: CatalogHouse): ItemHouse {
  return openItemHouse({
    db,
    files: noFiles,
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    fetch: createGuardedFetch({ blockPrivateAddresses: true, userAgent: '' }),
    catalogs: lookups,
    secretOf: () => Promise.reject(new Error('Nothing works here')),
    bounds: itemBounds,
    ingestEnabled: true,
    globalPendingEnabled: true,
    maxUploadBytes: 1,
    maxOpenItems: 1,
    ingestFolder: null,
  });
}

function idleUploads(db: Database): UploadHouse {
  return openUploadHouse({
    db,
    files: noFiles,
    wake: new WakeUp(db),
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    maxReportBytes: 1,
    stagingRetentionDays: 1,
    ingestFolder: null,
    uploadWatchFolder: null,
    uploadSliceMs: 1,
  });
}

function idleConnectors(db: Database): ConnectorHouse {
  const logger = pino({ level: 'silent' });
  return openConnectorHouse({
    db,
    wake: new WakeUp(db),
    logger,
    registry: new Registry(),
    limits: new RateLimits({ db, metrics: new LimitMetrics(new Registry()) }),
    breakers: new CircuitBreakers({ db, logger }),
    airbyteBaseUrl: 'https://api.airbyte.com/v1',
    airbyteApiToken: null,
    airbyteClientId: null,
    airbyteClientSecret: null,
    airbyteWorkspaceId: null,
    airbyteConcurrency: 1,
    airbyteRequestsPerSecond: 1,
    connectorEnrolment: 'open',
    hookSecret: 'none',
    userAgent: '',
    policy: {
      retryBaseMs: 1,
      lostTriggerMs: 1,
      minIntervalMs: 1,
      pollMs: 1,
      deadlineMs: 1,
      accountLimit: 1,
      accountWindowMs: 1,
    },
    coolDownMs: 1,
  });
}

function idleKnowledge(db: Database): KnowledgeHouse {
  const logger = pino({ level: 'silent' });
  return openKnowledgeHouse({
    db,
    files: noFiles,
    wake: new WakeUp(db),
    logger,
    registry: new Registry(),
    fetch: createGuardedFetch({ blockPrivateAddresses: true, userAgent: '' }),
    breakers: new CircuitBreakers({ db, logger }),
    secretOf: () => Promise.reject(new Error('Nothing works here')),
    engine: new ExactEngine({ cacheBytes: 0 }),
    countTokens: () => 0,
    knowledgeFolderRoot: null,
    knowledgeMaxFileBytes: 1,
    knowledgeMaxBases: 1,
    knowledgeMaxSources: 1,
    knowledgeMaxFiles: 1,
    knowledgeSliceMs: 1,
  });
}

function idleScrapes(db: Database): ScrapeHouse {
  return openScrapeHouse({
    db,
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    fetch: createGuardedFetch({ blockPrivateAddresses: true, userAgent: '' }),
    knowledge: {
      admit: async () => false,
      madeAt: async () => null,
      readPage: () => Promise.reject(new Error('Nothing works here')),
    },
    handoffMaxAttempts: 1,
    handoffRetryBaseMs: 0,
    scrapeMaxReferences: 5_000,
    scrapeMaxBodyBytes: 1,
    scrapeMaxSources: 1,
    scrapeSliceMs: 1,
    jobRetentionDays: 1,
  });
}

function idleAdapters(db: Database): AdapterHouse {
  const adapters = openAdapterHouse({
    db,
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    fetch: createGuardedFetch({ blockPrivateAddresses: true, userAgent: '' }),
    secretOf: () => Promise.reject(new Error('Nothing works here')),
    blockPrivateAddresses: true,
    adapterFolder: null,
    adapterMaxCount: 1,
    leaseMs: 1_000,
  });
  const closed = () => Promise.reject(new Error('Nothing works here'));
  const door = { maxBytes: 1, check: closed, takeIn: closed };
  adapters.connect({ doors: { items: door, uploads: door }, workerId: '' });
  return adapters;
}

function idleWebhooks(db: Database): Webhooks {
  return openWebhooks({
    db,
    wake: new WakeUp(db),
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    fetch: createGuardedFetch({ blockPrivateAddresses: true, userAgent: '' }),
    keys: parseSecretKeys('00'.repeat(32)),
    blockPrivateAddresses: true,
    webhookRetryBaseSeconds: 1,
    webhookTimeoutSeconds: 1,
    webhookConcurrency: 1,
    webhookMaxEndpoints: 1,
    webhookDeliveryRetentionDays: 1,
  });
}

const noFiles = createFiles({ filesBackend: 'local', dataDir: '/nonexistent' });
