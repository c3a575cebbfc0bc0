import type { Registry } from 'prom-client';
import { createMetricsRegistry } from './api/metrics.ts';
import type { Config, Definitions } from './config.ts';
import { houses } from './houses.ts';
import { ensureEra } from './kernel/events/store.ts';
import { createFiles } from './kernel/files/backends.ts';
import { Workbooks } from './kernel/files/workbooks.ts';
import { openAppTables } from './kernel/house/app-tables-store.ts';
import { Doors } from './kernel/house/doors.ts';
import type { Ground, OpenHouse } from './kernel/house/house.ts';
import type { SeamHook } from './kernel/house/seams.ts';
import { Kernel } from './kernel/jobs/kernel.ts';
import { sessionName } from './kernel/jobs/lease/membership.ts';
import { CircuitBreakers } from './kernel/limits/circuit-breaker.ts';
import { LimitMetrics } from './kernel/limits/metrics.ts';
import { RateLimits } from './kernel/limits/rate-limits.ts';
import { loadJwtSecret, loadSecretKeys } from './kernel/secrets/installation-secrets.ts';
import type { SecretKeys } from './kernel/secrets/stored-secrets.ts';
import { TenantSecrets } from './kernel/secrets/tenant-secrets.ts';
import { isDemoHost } from './kernel/tenancy/demo-store.ts';
import { createGuardedFetch } from './lib/fetch/guarded-fetch.ts';
import { newId } from './lib/ids.ts';
import type { Logger } from './lib/log.ts';
import { type Connections, prepareDatabase, resolveConnections } from './lib/postgres/connections.ts';
import { Database } from './lib/postgres/db.ts';
import { assertUsable, type Migration, readMigrations } from './lib/postgres/migrate.ts';
import { observePoolWait } from './lib/postgres/pool/db-metrics.ts';
import { readSchemaStateOf } from './lib/postgres/schema-state.ts';
import type { SecretScrubber } from './lib/secret-scrubber.ts';
import { passwordsOf } from './lib/settings/settings.ts';
import { type ClosingOrder, finishedWithin } from './lib/timing/closing.ts';
import { readVersion } from './lib/version.ts';

export interface ProcessOptions {
  config: Config;
  logger: Logger;
  scrubber: SecretScrubber;
  /** What the config file lists for houses, such as processors and embedders. */
  definitions?: Definitions;
  /** Of a test: makes slices of users' pipelines die. */
  seams?: SeamHook;
}

/** What every process of an installation has: the ground of its houses, and what only the wiring needs. */
export interface Installation extends Ground {
  connections: Connections;
  migrations: Migration[];
  secrets: TenantSecrets;
  /** Encrypt what tenants store. */
  keys: SecretKeys;
  houses: (OpenHouse & { name: string })[];
}

/** Opens the database, the kernel and the houses on it; `closing` closes them. */
export async function openInstallation(
  options: ProcessOptions,
  closing: ClosingOrder,
): Promise<Installation> {
  const base = await openGround(options, closing);
  const opened: Installation['houses'] = [];
  for (const house of houses) {
    const open = await house.open(base);
    base.kernel.install(open);
    closing.add(`The house of ${house.name}`, { stop: async () => open.close?.() });
    opened.push({ ...open, name: house.name });
  }
  return { ...base, houses: opened };
}

async function openGround(
  { config, logger, scrubber, definitions = {}, seams = () => {} }: ProcessOptions,
  closing: ClosingOrder,
): Promise<Omit<Installation, 'houses'>> {
  const connections = await openConnections({ config, logger, scrubber }, closing);
  const registry = createMetricsRegistry();
  const workerId = newId();
  const db = openDatabase({ config, connections, logger, registry, workerId });
  closing.add('The database pool', { stop: () => closePool(db, logger) });
  const migrations = await readMigrations();
  assertUsable(await readSchemaStateOf(db, migrations));
  // After a restore or a failover the event log begins a new era before anybody writes to it.
  await db.kernel(ensureEra);
  const secret = await loadJwtSecret({ configured: config.jwtSecret, dataDir: config.dataDir });
  scrubber.register([secret]);
  const keys = await loadSecretKeys({ configured: config.secretKey, dataDir: config.dataDir });
  const secrets = new TenantSecrets({ db, keys });
  const userAgent = `Sluice/${readVersion()}`;
  const isExempt = (tenantId: string, host: string) => db.kernel((tx) => isDemoHost(tx, { tenantId, host }));
  const fetch = createGuardedFetch({ ...config, userAgent, isExempt });
  closing.add('Outgoing connections', { stop: () => fetch.close() });
  const files = createFiles(config);
  closing.add('The file storage', { stop: () => files.close() });
  const workbooks = new Workbooks({ perTenant: config.tenantConcurrentParses });
  closing.add('The reader of workbooks', { stop: () => workbooks.close() });
  const kernel = new Kernel({
    ...config,
    workerId,
    db,
    directUrl: connections.directKernelUrl,
    logger,
    registry,
    version: readVersion(),
    concurrency: config.workerConcurrency,
    tenantLimit: config.tenantConcurrency,
    maxStrikes: config.maxWorkerCrashes,
    maxQueued: config.maxQueuedJobs,
  });
  return {
    ...{ config, logger, scrubber, connections, registry, db, migrations, secret, keys, secrets },
    ...{ userAgent, fetch, files, workbooks, kernel, doors: new Doors() },
    limits: new RateLimits({ db, metrics: new LimitMetrics(registry) }),
    breakers: new CircuitBreakers({ db, logger }),
    openAppTables: () => openAppTables(connections.ownerUrl),
    seams,
    definitions: (name) => definitions[name] ?? [],
  };
}

async function openConnections(
  { config, logger, scrubber }: ProcessOptions,
  closing: ClosingOrder,
): Promise<Connections> {
  const connections = await resolveConnections(config, { onNotice: (text) => logger.info(text) });
  closing.add('The database connection', { stop: () => connections.leave() });
  const { ownerUrl, appUrl, kernelUrl } = connections;
  scrubber.register([ownerUrl ?? '', appUrl, kernelUrl].flatMap(passwordsOf));
  const onNotice = (text: string) => logger.warn(text);
  const prepared = await prepareDatabase(connections, { migrate: config.autoMigrate, onNotice });
  if (prepared && prepared.applied.length > 0) logger.info({ applied: prepared.applied }, 'migrated');
  if (ownerUrl !== null && config.autoMigrate) {
    for (const house of houses) await house.prepare(ownerUrl, { onNotice });
  }
  return connections;
}

/** A server that gives up a statement needs a moment to report it. */
const silenceMarginMs = 5_000;

function openDatabase(deps: {
  config: Config;
  connections: Connections;
  logger: Logger;
  registry: Registry;
  workerId: string;
}): Database {
  return new Database({
    url: deps.connections.appUrl,
    kernelUrl: deps.connections.kernelUrl,
    applicationName: sessionName(deps.workerId),
    maxConnections: deps.config.databasePoolSize,
    settings: {
      statement_timeout: String(deps.config.statementTimeoutMs),
      // A process that is suspended inside a transaction keeps rows locked that all workers of a job need.
      idle_in_transaction_session_timeout: String(Math.floor(idleLimitMs(deps.config))),
      // Compiling a plan costs more than running any of our statements.
      jit: 'off',
    },
    silenceMs: deps.config.statementTimeoutMs + silenceMarginMs,
    onError: (err) => deps.logger.warn({ err }, 'a database connection was lost'),
    onTransaction: observePoolWait(deps.registry),
  });
}

/** Below the shortest time after which others take over what a silent process holds. */
function idleLimitMs(config: Config): number {
  return Math.min(config.leaseMs, ...houses.map((house) => house.takeoverMs(config))) * 0.8;
}

const poolCloseMs = 2000;

/** The pool waits for connections in use, and a request that was cut off may hold one for a long time. */
async function closePool(db: Database, logger: Logger): Promise<void> {
  if (await finishedWithin(db.close(), poolCloseMs)) return;
  logger.warn('database connections were still in use at the end; they are cut off');
}
