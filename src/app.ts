import { createHmac } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { type Readiness, watchReadiness } from './api/readiness.ts';
import { routeModules } from './api/route-modules.ts';
import { createServer } from './api/server.ts';
import { SseStreams } from './api/sse.ts';
import type { Config } from './config.ts';
import { type Installation, openInstallation, type ProcessOptions } from './installation.ts';
import { sweepOrphans } from './kernel/files/service.ts';
import type { Kernel } from './kernel/jobs/kernel.ts';
import type { CycleReport } from './kernel/jobs/run/cycle.ts';
import { rotationTask } from './kernel/secrets/rotation.ts';
import { tenantSecretShelf } from './kernel/secrets/tenant-secrets.ts';
import { installGauges } from './kernel/stats/metrics.ts';
import { stuckJobsTask } from './kernel/stats/tasks.ts';
import { createLoginUrl, installationOperator } from './kernel/tenancy/login-links.ts';
import { keepLoginLink, keepServerUrl, mayPrintLoginLink } from './kernel/tenancy/login-place.ts';
import { type Authenticator, createAuthenticator } from './kernel/tenancy/service.ts';
import type { SessionSubject } from './kernel/tenancy/session-store.ts';
import { mintToken } from './kernel/tenancy/tokens.ts';
import { kernelTasks } from './kernel/upkeep/tasks.ts';
import type { UpkeepTask } from './kernel/upkeep/types.ts';
import { Upkeep } from './kernel/upkeep/upkeep.ts';
import { webhookSecretShelf } from './kernel/webhooks/endpoints/secret-shelf.ts';
import { openWebhooks, type Webhooks } from './kernel/webhooks/webhooks.ts';
import { isSluiceError } from './lib/errors.ts';
import { listenOn } from './lib/listen.ts';
import type { Logger } from './lib/log.ts';
import { startMetricsListener } from './lib/metrics-listener.ts';
import type { Connections } from './lib/postgres/connections.ts';
import { systemClock } from './lib/timing/clock.ts';
import { ClosingOrder, finishedWithin, type Part } from './lib/timing/closing.ts';
import { readVersion } from './lib/version.ts';

export interface AppOptions extends ProcessOptions {
  /** A port that somebody chose is never replaced by another one. */
  portIsExplicit: boolean;
  /** Fills the tenant of the demo, whose admin the login link is for. */
  demo?: boolean;
}

export interface App {
  url: string;
  /** Works once, for half an hour; null when it is in the file instead, or when none was made. */
  loginUrl: string | null;
  /** Readable by its owner only, where others may read what this process prints. */
  loginFile: string | null;
  /** Where the database is, in words. */
  database: string;
  /** Lets work in flight end within the grace period, then closes everything. */
  stop(): Promise<void>;
}

/** Wires everything together and starts it. When a step fails, everything started so far is stopped. */
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
  const { base, server, readiness } = await openProcess(options, closing);
  await openMetricsPort({ options, base, closing });
  await listenOn(server, { host: config.host, port: config.port, isExplicit: options.portIsExplicit });
  const url = config.publicUrl ?? addressOf(server, config.host);
  await announceUrl(options, url);
  const subject = options.demo ? await openDemo(server, base) : installationOperator;
  const login = await makeLoginLink({ options, base, url, subject });
  logger.info({ url, worker_id: base.kernel.membership.workerId }, 'started');
  return {
    url,
    ...login,
    database: describeDatabase(base.connections),
    stop: async () => {
      readiness.close();
      await closing.closeAll();
    },
  };
}

export interface OpenProcess {
  base: Installation;
  /** Not listening. */
  server: FastifyInstance;
  readiness: Readiness;
}

/** Everything of a server but its port: `npm start` listens with it, a program that embeds Sluice does not. */
export async function openProcess(options: ProcessOptions, closing: ClosingOrder): Promise<OpenProcess> {
  const { config } = options;
  const base = await openInstallation(options, closing);
  const authenticator = createAuthenticator({
    db: base.db,
    clock: systemClock,
    tokens: { ...base, issuer: config.jwtIssuer, audience: config.jwtAudience, jwksUrl: config.jwksUrl },
  });
  const { webhooks } = await startWork({ options, base, closing, work: config.worker });
  const readiness = watchReadiness(base);
  const server = await openServer({ options, base, webhooks, authenticator, readiness, closing });
  return { base, server, readiness };
}

export interface WorkerApp {
  workerId: string;
  cycle(budgetMs: number): Promise<CycleReport>;
  stop(): Promise<void>;
}

/** A process without HTTP. With `isIdle` it takes no jobs by itself, only in the cycles that it is told to run. */
export async function createWorkerApp(
  options: ProcessOptions,
  { isIdle }: { isIdle: boolean },
): Promise<WorkerApp> {
  const closing = new ClosingOrder((sentence, err) => options.logger.error({ err }, sentence));
  try {
    const base = await openInstallation(options, closing);
    const { kernel } = base;
    const { webhooks } = await startWork({ options, base, closing, work: !isIdle });
    // A cycle ends before anybody could scrape its metrics.
    if (!isIdle) await openMetricsPort({ options, base, closing });
    return {
      workerId: kernel.membership.workerId,
      cycle: (budgetMs) => cycleWithWebhooks({ kernel, webhooks, budgetMs }),
      stop: () => closing.closeAll(),
    };
  } catch (error) {
    await closing.closeAll();
    throw error;
  }
}

/** Where a cron's cycle is all that runs, it also sends the webhooks that are due. */
async function cycleWithWebhooks(parts: {
  kernel: Kernel;
  webhooks: Webhooks;
  budgetMs: number;
}): Promise<CycleReport> {
  const deadlineMs = performance.now() + parts.budgetMs;
  const report = await parts.kernel.cycle({ budgetMs: parts.budgetMs });
  await parts.webhooks.dispatcher.drain(deadlineMs - performance.now());
  return report;
}

async function startWork(parts: {
  options: ProcessOptions;
  base: Installation;
  closing: ClosingOrder;
  work: boolean;
}): Promise<{ webhooks: Webhooks }> {
  const { config, logger } = parts.options;
  const { db, kernel, registry, breakers, houses, keys } = parts.base;
  const webhooks = openWebhooks({ ...config, ...parts.base, wake: kernel.wake });
  installGauges(registry, { db, logger });
  breakers.installGauge(registry);
  await kernel.start({ work: parts.work });
  const graceMs = config.shutdownGraceMs;
  parts.closing.add('The worker', { stop: () => kernel.stop(graceMs) });
  for (const house of houses) {
    parts.closing.add(`What the house of ${house.name} does by itself`, {
      stop: async () => void (await finishedWithin(house.stop?.() ?? Promise.resolve(), graceMs)),
    });
  }
  parts.closing.add('Webhooks', { stop: () => webhooks.dispatcher.stop(graceMs) });
  if (parts.work) {
    const shelves = [tenantSecretShelf(db), webhookSecretShelf(db)];
    const upkeep = new Upkeep({
      db,
      logger,
      tasks: [
        ...ownTasks(parts.base),
        rotationTask({ keys, shelves, logger }),
        ...houses.flatMap((house) => house.tasks ?? []),
        ...webhooks.tasks,
      ],
    });
    await upkeep.start(kernel.elections.office('upkeep'));
    parts.closing.add('Upkeep', upkeep);
    webhooks.dispatcher.start(kernel.elections.office('webhooks'));
  }
  return { webhooks };
}

/** The chores that belong to no house. */
function ownTasks({ config, db, logger, files, limits, breakers }: Installation): UpkeepTask[] {
  return [
    ...kernelTasks({ ...config, db }),
    stuckJobsTask({ db, logger }),
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
  options: ProcessOptions;
  base: Installation;
  webhooks: Webhooks;
  authenticator: Authenticator;
  readiness: Readiness;
  closing: ClosingOrder;
}

async function openServer(parts: ServerParts): Promise<FastifyInstance> {
  const { config, logger } = parts.options;
  const { base, webhooks, authenticator } = parts;
  const { db, registry, secret } = base;
  const streams = new SseStreams({ authenticator, maxPerTenant: config.tenantStreams });
  const server = await createServer({
    config: { ...config, secret: serverSecret(config, secret) },
    db,
    logger,
    authenticator,
    metrics: registry,
    routes: routeModules({ ...base, webhooks, streams, admissions: authenticator.admissions }),
    version: readVersion(),
    isReady: parts.readiness.isReady,
  });
  parts.closing.add('The server', gracefully(server, { graceMs: config.shutdownGraceMs, logger }));
  return server;
}

/** Serves metrics on a separate port, for servers and workers alike. */
async function openMetricsPort(parts: {
  options: ProcessOptions;
  base: Installation;
  closing: ClosingOrder;
}): Promise<void> {
  const { host, metricsPort: port, metricsToken: token } = parts.options.config;
  if (port === null) return;
  const listener = await startMetricsListener({ host, port, token, registry: parts.base.registry });
  parts.closing.add('The metrics port', listener);
}

/** Cursors and stored responses must work on every machine, so their key derives from a secret that all share. */
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

interface LoginPlace {
  loginUrl: string | null;
  loginFile: string | null;
}

/** Returns whom the login link is for: the demo's admin, or the operator when the demo could not be filled. */
async function openDemo(
  server: FastifyInstance,
  { secret, config, logger }: Installation,
): Promise<SessionSubject> {
  const token = await mintToken(
    { secret, issuer: config.jwtIssuer, audience: config.jwtAudience },
    { ...installationOperator, lifetimeSeconds: 300 },
  );
  const headers = { authorization: `Bearer ${token}` };
  const answer = await server.inject({ method: 'POST', url: '/api/demo', headers });
  if (answer.statusCode === 200) return { tenantId: answer.json().tenant_id, userId: 'demo', role: 'admin' };
  logger.warn({ reason: answer.json().detail }, 'the demo was not started');
  return installationOperator;
}

/** Whoever starts Sluice gets in with one click. The link is an operator's, so it goes where nobody else reads it. */
async function makeLoginLink(deps: {
  options: AppOptions;
  base: Installation;
  url: string;
  subject: SessionSubject;
}): Promise<LoginPlace> {
  const { config, logger } = deps.options;
  const { db, connections } = deps.base;
  try {
    const link = { url: deps.url, subject: deps.subject };
    const loginUrl = await createLoginUrl({ db, clock: systemClock }, link);
    const isEmbedded = connections.embedded !== null;
    if (mayPrintLoginLink({ ...config, isEmbedded })) return { loginUrl, loginFile: null };
    return { loginUrl: null, loginFile: await keepLoginLink(config.dataDir, loginUrl) };
  } catch (error) {
    // Somebody disabled this user or erased the tenant, or the directory is read-only: the server still starts.
    const isRefused = isSluiceError(error) && error.kind === 'forbidden';
    if (!isRefused && !isFileError(error)) throw error;
    logger.warn({ err: error }, 'there is no login link for this start; `sluice login` creates one');
    return { loginUrl: null, loginFile: null };
  }
}

/** For `sluice login`; a server whose data directory is read-only is found by --url. */
async function announceUrl({ config, logger }: AppOptions, url: string): Promise<void> {
  try {
    await keepServerUrl(config.dataDir, url);
  } catch (error) {
    if (!isFileError(error)) throw error;
    logger.warn({ err: error }, 'the address of this server could not be written to its data directory');
  }
}

function isFileError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && 'path' in error;
}

function describeDatabase(connections: Connections): string {
  if (connections.embedded !== null) return `embedded PostgreSQL in ${connections.embedded.postgresDir}`;
  const { host, pathname } = new URL(connections.appUrl);
  return `${host}${pathname}`;
}
