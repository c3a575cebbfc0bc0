import type { Registry } from 'prom-client';
import { createMetricsRegistry } from './api/metrics.ts';
import type { Config } from './config.ts';
import { type AdapterHouse, openAdapterHouse } from './ingest/adapters/house.ts';
import type { TargetDoor, TargetDoors } from './ingest/adapters/types.ts';
import { type CatalogHouse, openCatalogHouse } from './ingest/catalog/house.ts';
import { prepareTitleSearch } from './ingest/catalog/matching/prepare-title-search.ts';
import {
  type ConnectorHouse,
  hookSecretFrom,
  openConnectorHouse,
  syncPolicyOf,
} from './ingest/connectors/house.ts';
import { type ItemHouse, openItemHouse } from './ingest/items/house.ts';
import type { ProcessorDefinition } from './ingest/items/processing/processors/custom/define-processor.ts';
import { admitReferences, kbMadeAt } from './ingest/knowledge/documents/reference-intake.ts';
import type { EmbedderDefinition } from './ingest/knowledge/embedders/define-embedder.ts';
import { loadTokenCounter } from './ingest/knowledge/embedders/local-assets.ts';
import { readDocument } from './ingest/knowledge/formats/read-document.ts';
import {
  type KnowledgeHouse,
  type KnowledgeHouseOptions,
  openKnowledgeHouse,
} from './ingest/knowledge/house.ts';
import { openVectorEngine } from './ingest/knowledge/index/vector/open-engine.ts';
import { preparePgvector } from './ingest/knowledge/index/vector/prepare-pgvector.ts';
import { openScrapeHouse, type ScrapeHouse, type ScrapeHouseOptions } from './ingest/scrapes/house.ts';
import { createReferenceReader } from './ingest/scrapes/references/reader.ts';
import { openUploadHouse, type UploadHouse } from './ingest/uploads/house.ts';
import { createFiles } from './kernel/files/backends.ts';
import type { Files } from './kernel/files/types.ts';
import type { Kernel } from './kernel/jobs/kernel.ts';
import { sessionName } from './kernel/jobs/membership.ts';
import { WakeUp } from './kernel/jobs/wake-up.ts';
import { CircuitBreakers } from './kernel/limits/circuit-breaker.ts';
import { LimitMetrics } from './kernel/limits/metrics.ts';
import { RateLimits } from './kernel/limits/rate-limits.ts';
import { loadJwtSecret, loadSecretKeys } from './kernel/secrets/installation-secrets.ts';
import { rotationTask } from './kernel/secrets/rotation.ts';
import { TenantSecrets, tenantSecretShelf } from './kernel/secrets/tenant-secrets.ts';
import type { UpkeepTask } from './kernel/upkeep/types.ts';
import { webhookSecretShelf } from './kernel/webhooks/endpoints/secret-shelf.ts';
import { openWebhooks, type Webhooks } from './kernel/webhooks/webhooks.ts';
import { type ClosingOrder, finishedWithin } from './lib/closing.ts';
import { createGuardedFetch } from './lib/fetch/guarded-fetch.ts';
import { newId } from './lib/ids.ts';
import type { Logger } from './lib/log.ts';
import { type Connections, prepareDatabase, resolveConnections } from './lib/postgres/connections.ts';
import { Database } from './lib/postgres/db.ts';
import { observePoolWait } from './lib/postgres/db-metrics.ts';
import { assertUsable, type Migration, readMigrations } from './lib/postgres/migrate.ts';
import { readSchemaStateOf } from './lib/postgres/schema-state.ts';
import type { SecretScrubber } from './lib/secret-scrubber.ts';
import { passwordsOf } from './lib/settings/settings.ts';
import { readVersion } from './lib/version.ts';

export interface ProcessOptions {
  config: Config;
  logger: Logger;
  scrubber: SecretScrubber;
  /** Of the config file, beside the built-in ones. */
  processors?: readonly ProcessorDefinition[];
  embedders?: readonly EmbedderDefinition[];
}

/** What every process of an installation stands on. */
export interface Installation {
  connections: Connections;
  /** Of this process; its sessions are named after it. */
  workerId: string;
  db: Database;
  migrations: Migration[];
  files: Files;
  /** Signs tokens. */
  secret: string;
  metrics: Registry;
  secrets: TenantSecrets;
  /** Upkeep of what every process has. */
  tasks: UpkeepTask[];
  catalogs: CatalogHouse;
  items: ItemHouse;
  uploads: UploadHouse;
  connectors: ConnectorHouse;
  knowledge: KnowledgeHouse;
  scrapes: ScrapeHouse;
  adapters: AdapterHouse;
  webhooks: Webhooks;
  limits: RateLimits;
  breakers: CircuitBreakers;
  wake: WakeUp;
}

/** Opens the database, the houses and what they share. What was opened is closed by `closing`. */
export async function openInstallation(
  options: ProcessOptions,
  closing: ClosingOrder,
): Promise<Installation> {
  const { config, logger, scrubber } = options;
  const connections = await resolveConnections(config, { onNotice: (text) => logger.info(text) });
  closing.add('The database connection', { stop: () => connections.leave() });
  scrubber.register([connections.ownerUrl ?? '', connections.appUrl].flatMap(passwordsOf));
  await prepareSchema(options, connections);
  const metrics = createMetricsRegistry();
  const workerId = newId();
  const db = openDatabase({ config, connections, logger, metrics, workerId });
  closing.add('The database pool', { stop: () => closePool(db, logger) });
  const migrations = await readMigrations();
  assertUsable(await readSchemaStateOf(db, migrations));
  const secret = await loadJwtSecret({ configured: config.jwtSecret, dataDir: config.dataDir });
  scrubber.register([secret]);
  const keys = await loadSecretKeys({ configured: config.secretKey, dataDir: config.dataDir });
  const secrets = new TenantSecrets({ db, keys });
  const fetch = createGuardedFetch({ ...config, userAgent: `Sluice/${readVersion()}` });
  closing.add('Outgoing connections', { stop: () => fetch.close() });
  const secretOf = (tenantId: string, name: string) => secrets.get(tenantId, name);
  const files = createFiles(config);
  closing.add('The file storage', { stop: () => files.close() });
  const catalogs = openCatalogHouse({ ...config, db });
  const items = openItemHouse({
    ...config,
    db,
    files,
    logger,
    registry: metrics,
    fetch,
    catalogs: catalogs.lookups,
    secretOf,
    bounds: config,
    customProcessors: options.processors,
  });
  closing.add('The decoder of images', { stop: () => items.close() });
  const wake = new WakeUp(db);
  const uploads = openUploadHouse({ ...config, db, files, wake, logger, registry: metrics });
  const limits = new RateLimits({ db, metrics: new LimitMetrics(metrics) });
  const breakers = new CircuitBreakers({ db, logger });
  const connectors = openConnectors(options, { db, wake, metrics, limits, breakers, secret });
  closing.add('Connections to Airbyte', { stop: () => connectors.close() });
  const base = { db, files, wake, registry: metrics, fetch, breakers, secretOf };
  const knowledge = await openKnowledge(options, connections, base);
  closing.add('The embedders', { stop: () => knowledge.close() });
  const scrapes = openScrapes(options, { db, registry: metrics, fetch });
  const webhooks = openWebhooks({ ...config, db, wake, logger, registry: metrics, fetch, keys });
  const adapters = openAdapterHouse({ ...config, db, logger, registry: metrics, fetch, secretOf });
  const houses = { catalogs, items, uploads, connectors, knowledge, scrapes, adapters, webhooks };
  const shelves = [tenantSecretShelf(db), webhookSecretShelf(db)];
  const tasks = [rotationTask({ keys, shelves, logger })];
  const shared = {
    connections,
    workerId,
    db,
    migrations,
    files,
    secret,
    metrics,
    secrets,
    limits,
    breakers,
    wake,
  };
  return { ...shared, tasks, ...houses };
}

async function prepareSchema({ config, logger }: ProcessOptions, connections: Connections): Promise<void> {
  const prepared = await prepareDatabase(connections, { migrate: config.autoMigrate });
  if (prepared && prepared.applied.length > 0) logger.info({ applied: prepared.applied }, 'migrated');
  if (connections.ownerUrl !== null && config.autoMigrate) {
    await prepareTitleSearch(connections.ownerUrl, { onNotice: (text) => logger.warn(text) });
  }
}

function openConnectors(
  { config, logger, scrubber }: ProcessOptions,
  base: Pick<Installation, 'db' | 'wake' | 'metrics' | 'limits' | 'breakers' | 'secret'>,
): ConnectorHouse {
  const { secret, metrics, ...rest } = base;
  const hookSecret = hookSecretFrom(config.airbyteWebhookSecret, secret);
  scrubber.register([hookSecret]);
  return openConnectorHouse({
    ...config,
    ...rest,
    ...syncPolicyOf(config),
    registry: metrics,
    logger,
    hookSecret,
    userAgent: `Sluice/${readVersion()}`,
  });
}

async function openKnowledge(
  { config, logger, embedders }: ProcessOptions,
  { ownerUrl }: Connections,
  base: Pick<KnowledgeHouseOptions, 'db' | 'files' | 'wake' | 'registry' | 'fetch' | 'breakers' | 'secretOf'>,
): Promise<KnowledgeHouse> {
  if (ownerUrl !== null && config.autoMigrate) {
    await preparePgvector(ownerUrl, { onNotice: (text) => logger.warn(text) });
  }
  const engine = await openVectorEngine({
    db: base.db,
    logger,
    cacheBytes: config.knowledgeVectorCacheBytes,
  });
  const countTokens = await loadTokenCounter();
  const references = createReferenceReader(base.db);
  const seams = { logger, engine, countTokens, references, customEmbedders: embedders };
  return openKnowledgeHouse({ ...config, ...base, ...seams });
}

/** Houses never import each other: what scrapes need of knowledge is handed in here. */
function openScrapes(
  { config, logger }: ProcessOptions,
  base: Pick<ScrapeHouseOptions, 'db' | 'registry' | 'fetch'>,
): ScrapeHouse {
  return openScrapeHouse({
    ...config,
    ...base,
    logger,
    knowledge: {
      admit: admitReferences,
      madeAt: kbMadeAt,
      readPage: ({ isHtml, ...page }, signal) =>
        readDocument({ ...page, ...(isHtml ? { kind: 'html' } : {}) }, { signal }),
    },
  });
}

/** The same for what adapters need of items and uploads; they take files in through a kernel. */
export function adapterDoors(
  { items, uploads }: { items: ItemHouse; uploads: UploadHouse },
  kernel: Kernel,
): TargetDoors {
  return { items: itemsDoor(items, kernel), uploads: uploadsDoor(uploads, kernel) };
}

function itemsDoor(items: ItemHouse, kernel: Kernel): TargetDoor {
  const intake = items.intake(kernel);
  return {
    maxBytes: intake.maxBytes,
    check: async (_tenantId, target) => {
      if (target.kind === 'items') intake.check(target);
    },
    takeIn: async ({ target, tenantId, userId, fileName, content, record }) => {
      if (target.kind !== 'items') throw new Error(`A file for ${target.kind} came to the door of items`);
      const { processor, options } = target;
      await intake.ingest({
        ...{ tenantId, userId, processor, options, fileName, content },
        beforeCommit: (tx, { jobId }) => record(tx, { jobId, uploadId: null }),
      });
    },
  };
}

function uploadsDoor(uploads: UploadHouse, kernel: Kernel): TargetDoor {
  const intake = uploads.intake(kernel);
  return {
    maxBytes: intake.maxBytes,
    check: async (tenantId, target) => {
      if (target.kind === 'uploads') await intake.check(tenantId, target);
    },
    takeIn: async ({ target, tenantId, userId, fileName, content, record }) => {
      if (target.kind !== 'uploads') throw new Error(`A file for ${target.kind} came to the door of uploads`);
      const { platform, workspaceId } = target;
      await intake.take({
        ...{ tenantId, userId, platform, workspaceId, content, filename: fileName },
        beforeCommit: (tx, { jobId, uploadId }) => record(tx, { jobId, uploadId }),
      });
    },
  };
}

/** A server that gives up a statement needs a moment to say so. */
const silenceMarginMs = 5_000;

function openDatabase(deps: {
  config: Config;
  connections: Connections;
  logger: Logger;
  metrics: Registry;
  workerId: string;
}): Database {
  return new Database({
    url: deps.connections.appUrl,
    applicationName: sessionName(deps.workerId),
    maxConnections: deps.config.databasePoolSize,
    settings: {
      statement_timeout: String(deps.config.statementTimeoutMs),
      // A process that is stopped inside a transaction keeps rows locked that all workers of a job need.
      idle_in_transaction_session_timeout: String(Math.floor(idleLimitMs(deps.config))),
      // Compiling a plan costs more than running any of ours.
      jit: 'off',
    },
    silenceMs: deps.config.statementTimeoutMs + silenceMarginMs,
    onError: (err) => deps.logger.warn({ err }, 'a database connection was lost'),
    onTransaction: observePoolWait(deps.metrics),
  });
}

/** Below the shortest time after which others take over what a silent process holds. */
function idleLimitMs({ leaseMs, lockFloorMs }: Config): number {
  return Math.min(leaseMs, lockFloorMs) * 0.8;
}

const poolCloseMs = 2000;

/** The pool waits for connections that are in use: a request that was cut off may hold one for as long as it likes. */
async function closePool(db: Database, logger: Logger): Promise<void> {
  if (await finishedWithin(db.close(), poolCloseMs)) return;
  logger.warn('database connections were still in use at the end; they are cut off');
}
