import { createHmac } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import { createMetricsRegistry } from './api/metrics.ts';
import { type Readiness, watchReadiness } from './api/readiness.ts';
import { houseRoutes } from './api/route-modules.ts';
import { createServer } from './api/server.ts';
import { SseStreams } from './api/sse.ts';
import type { Config } from './config.ts';
import { type ItemHouse, openItemHouse } from './ingest/items/house.ts';
import { installEventMetrics } from './kernel/events/metrics.ts';
import { createGuardedFetch } from './kernel/fetch/guarded-fetch.ts';
import { createFiles } from './kernel/files/backends.ts';
import { sweepOrphans } from './kernel/files/service.ts';
import type { Files } from './kernel/files/types.ts';
import type { CycleReport } from './kernel/jobs/cycle.ts';
import { Kernel } from './kernel/jobs/kernel.ts';
import { CircuitBreakers } from './kernel/limits/circuit-breaker.ts';
import { LimitMetrics } from './kernel/limits/metrics.ts';
import { RateLimits } from './kernel/limits/rate-limits.ts';
import { loadJwtSecret, loadSecretKeys } from './kernel/secrets/installation-secrets.ts';
import { TenantSecrets } from './kernel/secrets/tenant-secrets.ts';
import { installGauges } from './kernel/stats/metrics.ts';
import { type Authenticator, createAuthenticator } from './kernel/tenancy/service.ts';
import { createLoginLink } from './kernel/tenancy/sessions.ts';
import { kernelTasks } from './kernel/upkeep/tasks.ts';
import type { UpkeepTask } from './kernel/upkeep/types.ts';
import { Upkeep } from './kernel/upkeep/upkeep.ts';
import { systemClock } from './lib/clock.ts';
import { ClosingOrder, finishedWithin, type Part } from './lib/closing.ts';
import { type Connections, prepareDatabase, resolveConnections } from './lib/connections.ts';
import { Database } from './lib/db.ts';
import { isSluiceError } from './lib/errors.ts';
import { listenOn } from './lib/listen.ts';
import type { Logger } from './lib/log.ts';
import { startMetricsListener } from './lib/metrics-listener.ts';
import { assertUsable, type Migration, readMigrations } from './lib/migrate.ts';
import { readSchemaStateOf } from './lib/schema-state.ts';
import type { SecretScrubber } from './lib/secret-scrubber.ts';
import { passwordsOf } from './lib/settings.ts';
import { readVersion } from './lib/version.ts';

export interface AppOptions {
  config: Config;
  /** A port that somebody chose is never exchanged for another one. */
  portIsExplicit: boolean;
  logger: Logger;
  scrubber: SecretScrubber;
  /** Print a login link even when the database is not the embedded one. */
  showLoginLink: boolean;
}

export interface App {
  url: string;
  /** Works once, for half an hour; null when none was made. */
  loginUrl: string | null;
  /** Where the database is, in words. */
  database: string;
  /** Lets work in flight end within the grace period, then closes everything. */
  stop(): Promise<void>;
}

/** Wires everything together and starts it. When a step fails, what was started before is stopped again. */
export async function createApp(options: AppOptions): Promise<App> {
  const closing = new ClosingOrder((sentence, err) => options.logger.error({ err }, sentence));
  try {
    return await start(options, closing);
  } catch (error) {
    await closing.closeAll();
    throw error;
  }
}

async function start(options: AppOptions, closing: ClosingOrder): Promise<App> {
  const { config, logger } = options;
  const base = await openInstallation(options, closing);
  const authenticator = createAuthenticator({
    db: base.db,
    clock: systemClock,
    tokens: { ...base, issuer: config.jwtIssuer, audience: config.jwtAudience, jwksUrl: config.jwksUrl },
  });
  const kernel = await startKernel({ options, base, closing, work: config.worker });
  const readiness = watchReadiness(base);
  const server = await openServer({ options, base, kernel, authenticator, readiness, closing });
  const url = config.publicUrl ?? addressOf(server, config.host);
  const loginUrl = await makeLoginUrl({ options, base, authenticator, url });
  logger.info({ url, worker_id: kernel.membership.workerId }, 'started');
  return {
    url,
    loginUrl,
    database: describeDatabase(base.connections),
    stop: async () => {
      readiness.close();
      await closing.closeAll();
    },
  };
}

export interface WorkerApp {
  workerId: string;
  cycle(budgetMs: number): Promise<CycleReport>;
  stop(): Promise<void>;
}

/** A process without HTTP. `isIdle`: it takes no jobs by itself, only in the cycles that it is told to run. */
export async function createWorkerApp(
  options: Omit<AppOptions, 'portIsExplicit' | 'showLoginLink'>,
  { isIdle }: { isIdle: boolean },
): Promise<WorkerApp> {
  const closing = new ClosingOrder((sentence, err) => options.logger.error({ err }, sentence));
  try {
    const base = await openInstallation(options, closing);
    const kernel = await startKernel({ options, base, closing, work: !isIdle });
    return {
      workerId: kernel.membership.workerId,
      cycle: (budgetMs) => kernel.cycle({ budgetMs }),
      stop: () => closing.closeAll(),
    };
  } catch (error) {
    await closing.closeAll();
    throw error;
  }
}

type ProcessOptions = Pick<AppOptions, 'config' | 'logger' | 'scrubber'>;

/** What every process of an installation stands on. */
interface Installation {
  connections: Connections;
  db: Database;
  migrations: Migration[];
  files: Files;
  /** Signs tokens. */
  secret: string;
  metrics: Registry;
  secrets: TenantSecrets;
  items: ItemHouse;
}

async function openInstallation(options: ProcessOptions, closing: ClosingOrder): Promise<Installation> {
  const { config, logger, scrubber } = options;
  const connections = await resolveConnections(config, { onNotice: (text) => logger.info(text) });
  closing.add('The database connection', { stop: () => connections.leave() });
  scrubber.register([connections.ownerUrl ?? '', connections.appUrl].flatMap(passwordsOf));
  const prepared = await prepareDatabase(connections, { migrate: config.autoMigrate });
  if (prepared && prepared.applied.length > 0) logger.info({ applied: prepared.applied }, 'migrated');
  const db = openDatabase({ config, connections, logger });
  closing.add('The database pool', { stop: () => closePool(db, logger) });
  const migrations = await readMigrations();
  assertUsable(await readSchemaStateOf(db, migrations));
  const secret = await loadJwtSecret({ configured: config.jwtSecret, dataDir: config.dataDir });
  scrubber.register([secret]);
  const keys = await loadSecretKeys({ configured: config.secretKey, dataDir: config.dataDir });
  const secrets = new TenantSecrets({ db, keys });
  const fetch = createGuardedFetch({ ...config, userAgent: `Sluice/${readVersion()}` });
  closing.add('Outgoing connections', { stop: () => fetch.close() });
  const metrics = createMetricsRegistry();
  const secretOf = (tenantId: string, name: string) => secrets.get(tenantId, name);
  const items = openItemHouse({ ...config, db, logger, registry: metrics, fetch, secretOf, bounds: config });
  return { connections, db, migrations, files: createFiles(config), secret, metrics, secrets, items };
}

async function startKernel(parts: {
  options: ProcessOptions;
  base: Installation;
  closing: ClosingOrder;
  work: boolean;
}): Promise<Kernel> {
  const { config, logger } = parts.options;
  const { db, connections, metrics, files, items } = parts.base;
  const kernel = new Kernel({
    db,
    directUrl: connections.directAppUrl,
    logger,
    registry: metrics,
    pipelines: [items.pipeline],
    onWorkersLost: items.onWorkersLost,
    version: readVersion(),
    leaseMs: config.leaseMs,
    heartbeatMs: config.heartbeatMs,
    pollMs: config.pollMs,
    concurrency: config.workerConcurrency,
    tenantLimit: config.tenantConcurrency,
    maxStrikes: config.maxWorkerCrashes,
    maxQueued: config.maxQueuedJobs,
  });
  installGauges(metrics, { db, logger });
  installEventMetrics(metrics, { db, logger });
  const limits = new RateLimits({ db, metrics: new LimitMetrics(metrics) });
  const breakers = new CircuitBreakers({ db, logger });
  breakers.installGauge(metrics);
  await kernel.start({ work: parts.work });
  parts.closing.add('The worker', { stop: () => kernel.stop(config.shutdownGraceMs) });
  if (parts.work) {
    const upkeep = new Upkeep({
      db,
      logger,
      tasks: upkeepTasks({ config, db, logger, files, limits, breakers, items }),
    });
    await upkeep.start();
    parts.closing.add('Upkeep', upkeep);
  }
  return kernel;
}

function upkeepTasks(deps: {
  config: Config;
  db: Database;
  logger: Logger;
  files: Files;
  limits: RateLimits;
  breakers: CircuitBreakers;
  items: ItemHouse;
}): UpkeepTask[] {
  const { config, db, logger, files, limits, breakers, items } = deps;
  return [
    ...kernelTasks({ ...config, db, logger }),
    ...items.tasks,
    {
      name: 'purge_limits',
      everyMs: 10 * 60_000,
      run: async () => ({
        rate_limits: await limits.purgeExpired(10_000),
        breakers: await breakers.purgeForgotten(1_000),
      }),
    },
    {
      name: 'sweep_orphaned_files',
      everyMs: 60 * 60_000,
      run: async () => {
        const { looked, removed } = await sweepOrphans({ db, files });
        return { looked, removed };
      },
    },
  ];
}

function openDatabase(deps: { config: Config; connections: Connections; logger: Logger }): Database {
  return new Database({
    url: deps.connections.appUrl,
    applicationName: 'sluice-server',
    maxConnections: deps.config.databasePoolSize,
    // Compiling a plan costs more than running any of ours.
    settings: { statement_timeout: String(deps.config.statementTimeoutMs), jit: 'off' },
    onError: (err) => deps.logger.warn({ err }, 'a database connection was lost'),
  });
}

const poolCloseMs = 2000;

/** The pool waits for connections that are in use: a request that was cut off may hold one for as long as it likes. */
async function closePool(db: Database, logger: Logger): Promise<void> {
  if (await finishedWithin(db.close(), poolCloseMs)) return;
  logger.warn('database connections were still in use at the end; they are cut off');
}

interface ServerParts {
  options: AppOptions;
  base: Installation;
  kernel: Kernel;
  authenticator: Authenticator;
  readiness: Readiness;
  closing: ClosingOrder;
}

async function openServer(parts: ServerParts): Promise<FastifyInstance> {
  const { config, logger, portIsExplicit } = parts.options;
  const { db, files, metrics, secret, items, secrets } = parts.base;
  const { kernel, authenticator } = parts;
  const server = await createServer({
    config: { ...config, secret: serverSecret(config, secret) },
    db,
    logger,
    authenticator,
    metrics,
    routes: houseRoutes({
      kernel,
      files,
      admissions: authenticator.admissions,
      streams: new SseStreams({ authenticator }),
      items,
      secrets,
    }),
    version: readVersion(),
    isReady: parts.readiness.isReady,
  });
  parts.closing.add('The server', gracefully(server, { graceMs: config.shutdownGraceMs, logger }));
  if (config.metricsPort !== null) {
    const { host, metricsPort: port, metricsToken: token } = config;
    const listener = await startMetricsListener({ host, port, token, registry: metrics });
    parts.closing.add('The metrics port', listener);
  }
  await listenOn(server, { host: config.host, port: config.port, isExplicit: portIsExplicit });
  return server;
}

/** Cursors and kept answers must be the same on every machine, so they hang on a secret that the operator shares. */
function serverSecret(config: Config, jwtSecret: string): string {
  const shared = config.jwtSecret ?? config.secretKey ?? jwtSecret;
  return createHmac('sha256', shared).update('sluice server secret').digest('base64url');
}

function gracefully(server: FastifyInstance, { graceMs, logger }: { graceMs: number; logger: Logger }): Part {
  return {
    stop: async () => {
      const closed = server.close();
      if (await finishedWithin(closed, graceMs)) return;
      logger.warn(
        { graceMs },
        'requests were still running at the end of the grace period; they are cut off',
      );
      server.server.closeAllConnections();
      await closed;
    },
  };
}

function addressOf(server: FastifyInstance, host: string): string {
  const { port } = server.server.address() as AddressInfo;
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

/**
 * Whoever starts Sluice on his own machine gets in with one click. On a server with a database of its own the output
 * usually goes to a log that others read, so there is a link only on request.
 */
async function makeLoginUrl(deps: {
  options: AppOptions;
  base: Installation;
  authenticator: Authenticator;
  url: string;
}): Promise<string | null> {
  if (!deps.base.connections.embedded && !deps.options.showLoginLink) return null;
  const subject = { tenantId: 'default', userId: 'operator', role: 'operator' } as const;
  try {
    await deps.authenticator.admissions.admit({ ...subject, via: 'session' });
  } catch (error) {
    // Somebody disabled this user or erased the tenant; the server still starts.
    if (isSluiceError(error) && error.kind === 'forbidden') return null;
    throw error;
  }
  return `${deps.url}/login?code=${await createLoginLink(deps.base.db, subject)}`;
}

function describeDatabase(connections: Connections): string {
  if (connections.embedded !== null) return `embedded PostgreSQL in ${connections.embedded.postgresDir}`;
  const { host, pathname } = new URL(connections.appUrl);
  return `${host}${pathname}`;
}
