import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { mintToken } from '../../src/kernel/tenancy/tokens.ts';
import { FakeAirbyte } from '../support/fakes/fake-airbyte.ts';
import type { FakeConnection } from '../support/fakes/fake-airbyte-state.ts';
import { startTcpProxy, type TcpProxy } from '../support/fakes/tcp-proxy.ts';
import type { CommandLine } from '../support/servers/command-line.ts';
import { testTokens } from '../support/servers/server.ts';
import { newTenant, type TestDatabase } from '../support/worlds/database.ts';
import {
  type ItemServer,
  type ItemWorker,
  installationEnv,
  startServer,
  startWorker,
} from './items-stage.ts';
import { type SeededRandom, seededRandom } from './seeded-random.ts';
import type { SyncsFault, SyncsQuota } from './syncs-quota.ts';

export interface SyncedConnector {
  tenantId: string;
  connectorId: string;
  connection: FakeConnection;
}

/** A sync that the server has acknowledged. */
export interface AskedSync extends SyncedConnector {
  jobId: string;
}

/** Everything that faults happen to, and what has happened so far. */
export interface SyncsStage {
  readonly quota: SyncsQuota;
  readonly random: SeededRandom;
  readonly database: TestDatabase;
  readonly airbyte: FakeAirbyte;
  readonly server: ItemServer;
  /** The worker in each place; a dead one is replaced. */
  readonly workers: ItemWorker[];
  readonly poolProxy: TcpProxy;
  /** The guard connection of one worker. */
  readonly guardProxy: TcpProxy;
  readonly connectors: SyncedConnector[];
  /** The ledger of what was acknowledged; that of what was run is Airbyte's own. */
  readonly asked: AskedSync[];
  readonly done: Record<SyncsFault, number>;
  readonly moodsByKind: Record<string, number>;
  killedAtTrigger: number;
  replaceDead(): void;
  /** Connectors without a sync under way, in any order. */
  listIdle(): Promise<SyncedConnector[]>;
  /** Requests a sync until there is a response; false when one is already active. */
  syncNow(connector: SyncedConnector): Promise<boolean>;
  /**
   * Whoever is hit while he tries for all whether Airbyte is back makes everybody wait for a minute. That is right
   * for Airbyte and too long for a test: here somebody else tries after some seconds.
   */
  passLostProbes(): Promise<void>;
  /** One after the other: what happens to Airbyte must not be mixed up with its moods. */
  withAirbyte<T>(work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Fast syncs: nothing waits longer than it must, and a sync survives some seconds of trouble. */
const syncEnv = {
  SYNC_POLL_SECONDS: '0.2',
  SYNC_MIN_INTERVAL_SECONDS: '0',
  SYNC_RETRY_BASE_SECONDS: '0.6',
  SYNC_LOST_TRIGGER_SECONDS: '1',
  SYNC_ACCOUNT_LIMIT: '1000',
  SYNC_ACCOUNT_WINDOW_SECONDS: '1',
  AIRBYTE_CONCURRENCY: '6',
  AIRBYTE_REQUESTS_PER_SECOND: '200',
  SLUICE_WORKER_CONCURRENCY: '8',
  DATABASE_POOL_SIZE: '8',
  SLUICE_AUTO_MIGRATE: 'false',
};

export async function openSyncsStage(
  sluice: CommandLine,
  database: TestDatabase,
  { quota, seed }: { quota: SyncsQuota; seed: number },
): Promise<SyncsStage> {
  const airbyte = await FakeAirbyte.start();
  const socketDir = decodeURIComponent(new URL(database.ownerUrl).hostname);
  const socket = { path: path.join(socketDir, '.s.PGSQL.5432') };
  const poolProxy = await startTcpProxy(socket);
  const guardProxy = await startTcpProxy(socket);
  const env = {
    ...installationEnv(database, quota),
    ...syncEnv,
    AIRBYTE_BASE_URL: airbyte.url,
    AIRBYTE_API_TOKEN: airbyte.settings.fixedToken,
  };
  const pooled = { DATABASE_URL: through(poolProxy.port, database.ownerUrl) };
  const urls = [
    { ...pooled, DATABASE_DIRECT_URL: through(guardProxy.port, database.ownerUrl) },
    { ...pooled, DATABASE_DIRECT_URL: database.ownerUrl },
  ];
  const start = (place: number) => startWorker(sluice, { ...env, ...urls[place] });
  const connectors = await enrolConnectors(database, airbyte, quota);
  const server = await startServer(sluice, env);
  const workers = Array.from({ length: quota.workers }, (_, place) => start(place));
  const asked: AskedSync[] = [];
  let wishes = 0;
  let line: Promise<unknown> = Promise.resolve();
  return {
    ...{ quota, database, airbyte, server, workers, poolProxy, guardProxy, connectors, asked },
    random: seededRandom(seed),
    done: { kills: 0, zombies: 0, backends: 0, cuts: 0, moods: 0 },
    moodsByKind: {},
    killedAtTrigger: 0,
    replaceDead() {
      for (const [place, { isLiving }] of workers.entries()) if (!isLiving) workers[place] = start(place);
    },
    listIdle: () => listIdle(database, connectors),
    syncNow(connector) {
      wishes += 1;
      return askSync(server, { asked, rows: wishes }, connector);
    },
    async passLostProbes() {
      await database.owner(
        `update circuit_breakers
            set probe_at = clock_timestamp()
          where state = 'probing'
            and updated_at < clock_timestamp() - interval '3 seconds'
            and probe_at > clock_timestamp()`,
      );
    },
    withAirbyte: (work) => {
      const turn = line.then(work);
      line = turn.catch(() => {});
      return turn;
    },
    async close() {
      for (const { running } of [...workers, server]) {
        running.child.kill('SIGKILL');
        await running.ended;
      }
      await poolProxy.close();
      await guardProxy.close();
      await airbyte.close();
    },
  };
}

export async function enrolConnectors(
  database: TestDatabase,
  airbyte: FakeAirbyte,
  { tenants, connectors: count }: Pick<SyncsQuota, 'tenants' | 'connectors'>,
): Promise<SyncedConnector[]> {
  const tenantIds = await Promise.all(Array.from({ length: tenants }, () => newTenant(database)));
  const connectors = Array.from({ length: count }, (_, number) => ({
    tenantId: tenantIds[number % tenants] ?? '',
    connectorId: `shop-${number}`,
    connection: airbyte.addConnection({ plan: { statuses: ['running'], rows: 0 } }),
  }));
  await database.owner(
    `insert into connectors (tenant_id, connector_id, name, airbyte_connection_id, external_account_id,
       next_sync_at, planned_for, created_by)
     select tenant_id, connector_id, connector_id, connection_id, 'account of ' || connector_id,
            now() + interval '1 day', 'free', 'test'
       from unnest($1::text[], $2::text[], $3::text[]) given (tenant_id, connector_id, connection_id)`,
    [
      connectors.map(({ tenantId }) => tenantId),
      connectors.map(({ connectorId }) => connectorId),
      connectors.map(({ connection }) => connection.connectionId),
    ],
  );
  return connectors;
}

async function listIdle(database: TestDatabase, connectors: SyncedConnector[]): Promise<SyncedConnector[]> {
  const rows = await database.owner<{ connectorId: string }>(
    `select connector_id as "connectorId" from ingestion_jobs
      where status in ('queued', 'running', 'failed', 'paused')`,
  );
  const busy = new Set(rows.map(({ connectorId }) => connectorId));
  return connectors.filter(({ connectorId }) => !busy.has(connectorId));
}

/** With a pause of 100 ms longer than the 30 s for which a key belongs to a request that has died. */
const maxTries = 400;

/** Like a careful client: repeats the request with the same key until it gets a response. */
async function askSync(
  server: ItemServer,
  { asked, rows }: { asked: AskedSync[]; rows: number },
  connector: SyncedConnector,
): Promise<boolean> {
  const { tenantId, connectorId, connection } = connector;
  const key = `${connectorId}-${crypto.randomUUID()}`;
  // Every run has a number of rows of its own, so that none can be taken for another.
  connection.plan = { statuses: ['running'], rows, bytes: 1 };
  for (let attempt = 1; ; attempt += 1) {
    const answer = await postSync(server.url, { tenantId, connectorId, key }).catch(() => null);
    if (answer?.status === 202) {
      asked.push({ ...connector, jobId: String(answer.body.job_id) });
      return true;
    }
    const code = answer?.body.code;
    if (code === 'job_already_active') return false;
    // Gone, in trouble, or still processing the first try: all of these pass.
    const passes = answer === null || answer.status === 503 || answer.status === 409;
    if (!passes || attempt === maxTries)
      throw new Error(`The sync of ${connectorId} was answered with ${JSON.stringify(answer)}`);
    await pause(100);
  }
}

async function postSync(
  url: string,
  { tenantId, connectorId, key }: { tenantId: string; connectorId: string; key: string },
): Promise<{ status: number; body: Record<string, unknown> }> {
  const subject = { tenantId, userId: 'chaos', role: 'admin', lifetimeSeconds: 3_600 } as const;
  const answer = await fetch(`${url}/api/connectors/${connectorId}/sync`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await mintToken(testTokens, subject)}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    },
    body: '{}',
    signal: AbortSignal.timeout(30_000),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

function through(port: number, target: string): string {
  const { username, password, pathname } = new URL(target);
  return `postgres://${username}:${password}@127.0.0.1:${port}${pathname}`;
}
