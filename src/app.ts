import { createHmac } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { type Readiness, watchReadiness } from './api/readiness.ts';
import { houseRoutes } from './api/route-modules.ts';
import { createServer } from './api/server.ts';
import { SseStreams } from './api/sse.ts';
import type { Config } from './config.ts';
import type { ItemHouse } from './ingest/items/house.ts';
import { adapterDoors, type Installation, openInstallation, type ProcessOptions } from './installation.ts';
import { installEventMetrics } from './kernel/events/metrics.ts';
import { sweepOrphans } from './kernel/files/service.ts';
import type { Files } from './kernel/files/types.ts';
import type { CycleReport } from './kernel/jobs/cycle.ts';
import { Kernel } from './kernel/jobs/kernel.ts';
import type { CircuitBreakers } from './kernel/limits/circuit-breaker.ts';
import type { RateLimits } from './kernel/limits/rate-limits.ts';
import { installGauges } from './kernel/stats/metrics.ts';
import { type Authenticator, createAuthenticator } from './kernel/tenancy/service.ts';
import { createLoginLink } from './kernel/tenancy/sessions.ts';
import { kernelTasks } from './kernel/upkeep/tasks.ts';
import type { UpkeepTask } from './kernel/upkeep/types.ts';
import { Upkeep } from './kernel/upkeep/upkeep.ts';
import { systemClock } from './lib/clock.ts';
import { ClosingOrder, finishedWithin, type Part } from './lib/closing.ts';
import { isSluiceError } from './lib/errors.ts';
import { listenOn } from './lib/listen.ts';
import type { Logger } from './lib/log.ts';
import { startMetricsListener } from './lib/metrics-listener.ts';
import type { Connections } from './lib/postgres/connections.ts';
import type { Database } from './lib/postgres/db.ts';
import { readVersion } from './lib/version.ts';

export interface AppOptions extends ProcessOptions {
  /** A port that somebody chose is never exchanged for another one. */
  portIsExplicit: boolean;
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
  options: ProcessOptions,
  { isIdle }: { isIdle: boolean },
): Promise<WorkerApp> {
  const closing = new ClosingOrder((sentence, err) => options.logger.error({ err }, sentence));
  try {
    const base = await openInstallation(options, closing);
    const kernel = await startKernel({ options, base, closing, work: !isIdle });
    // A cycle is over before anybody could ask for its figures.
    if (!isIdle) await openMetricsPort({ options, base, closing });
    return {
      workerId: kernel.membership.workerId,
      cycle: (budgetMs) => cycleWithWebhooks({ base, kernel, budgetMs }),
      stop: () => closing.closeAll(),
    };
  } catch (error) {
    await closing.closeAll();
    throw error;
  }
}

/** A cron's cycle is all that such an installation has: what it did, and what waits, is told to receivers as well. */
async function cycleWithWebhooks(parts: {
  base: Installation;
  kernel: Kernel;
  budgetMs: number;
}): Promise<CycleReport> {
  const deadlineMs = performance.now() + parts.budgetMs;
  const report = await parts.kernel.cycle({ budgetMs: parts.budgetMs });
  await parts.base.webhooks.dispatcher.drain(deadlineMs - performance.now());
  return report;
}

async function startKernel(parts: {
  options: ProcessOptions;
  base: Installation;
  closing: ClosingOrder;
  work: boolean;
}): Promise<Kernel> {
  const { config, logger } = parts.options;
  const { workerId, db, connections, metrics, files, limits, breakers, wake } = parts.base;
  const { items, uploads, connectors, knowledge, scrapes, adapters, webhooks } = parts.base;
  const kernel = new Kernel({
    workerId,
    db,
    directUrl: connections.directAppUrl,
    logger,
    registry: metrics,
    wake,
    pipelines: [items.pipeline, uploads.pipeline, connectors.pipeline, knowledge.pipeline, scrapes.pipeline],
    onWorkersLost: items.onWorkersLost,
    beforeCycle: async (own, scope) => {
      await connectors.scheduleDue(own, scope);
      if (scope.tenantId === undefined) await adapters.scanDue();
    },
    version: readVersion(),
    leaseMs: config.leaseMs,
    heartbeatMs: config.heartbeatMs,
    pollMs: config.pollMs,
    concurrency: config.workerConcurrency,
    tenantLimit: config.tenantConcurrency,
    maxStrikes: config.maxWorkerCrashes,
    maxQueued: config.maxQueuedJobs,
  });
  scrapes.connect(kernel);
  adapters.connect({ doors: adapterDoors({ items, uploads }, kernel), workerId });
  installGauges(metrics, { db, logger });
  installEventMetrics(metrics, { db, logger });
  breakers.installGauge(metrics);
  await kernel.start({ work: parts.work });
  parts.closing.add('The worker', { stop: () => kernel.stop(config.shutdownGraceMs) });
  parts.closing.add('Scans of adapters', {
    stop: async () => void (await finishedWithin(adapters.stop(), config.shutdownGraceMs)),
  });
  parts.closing.add('Webhooks', { stop: () => webhooks.dispatcher.stop(config.shutdownGraceMs) });
  if (parts.work) {
    const upkeep = new Upkeep({
      db,
      logger,
      tasks: [
        ...upkeepTasks({ config, db, logger, files, limits, breakers, items }),
        ...parts.base.tasks,
        ...parts.base.catalogs.tasks,
        ...uploads.tasks(kernel),
        ...connectors.tasks(kernel),
        ...knowledge.tasks,
        ...scrapes.tasks(kernel),
        ...adapters.tasks,
        ...webhooks.tasks,
      ],
    });
    await upkeep.start();
    parts.closing.add('Upkeep', upkeep);
    webhooks.dispatcher.start();
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
  const { db, files, metrics, secret, items, uploads, connectors, knowledge, scrapes } = parts.base;
  const { secrets, adapters, webhooks } = parts.base;
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
      catalogs: parts.base.catalogs,
      items,
      uploads,
      connectors,
      knowledge,
      scrapes,
      adapters,
      secrets,
      webhooks,
    }),
    version: readVersion(),
    isReady: parts.readiness.isReady,
  });
  parts.closing.add('The server', gracefully(server, { graceMs: config.shutdownGraceMs, logger }));
  await openMetricsPort(parts);
  await listenOn(server, { host: config.host, port: config.port, isExplicit: portIsExplicit });
  return server;
}

/** Figures on a port of their own, for servers and workers alike. */
async function openMetricsPort(parts: {
  options: ProcessOptions;
  base: Installation;
  closing: ClosingOrder;
}): Promise<void> {
  const { host, metricsPort: port, metricsToken: token } = parts.options.config;
  if (port === null) return;
  const listener = await startMetricsListener({ host, port, token, registry: parts.base.metrics });
  parts.closing.add('The metrics port', listener);
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
