import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  type EmbeddedPostgres,
  joinEmbeddedPostgres,
} from '../../src/lib/postgres/embedded/embedded-postgres.ts';
import { migrateUp } from '../../src/lib/postgres/migrate.ts';
import { appUrlFor, ensureLogins, ensureRoles } from '../../src/lib/postgres/roles.ts';
import { queryOnce } from '../support/fakes/postgres-server.ts';
import { startTcpProxy, type TcpProxy } from '../support/fakes/tcp-proxy.ts';
import type { CommandLine } from '../support/servers/command-line.ts';
import { probeTable } from '../support/worlds/probe-pipeline.ts';
import type { ChaosQuota, FaultKind, FaultTarget } from './chaos-quota.ts';
import { openProduct, type ProductStage } from './product-stage.ts';
import { type SeededRandom, seededRandom } from './seeded-random.ts';
import { type Fleet, openFleet, type SpawnSettings, type WorkerProcess } from './worker-fleet.ts';

/** Everything that faults happen to, and what has happened so far. */
export interface ChaosStage {
  readonly quota: ChaosQuota;
  readonly random: SeededRandom;
  /** A separate PostgreSQL, because it is killed; it restarts by itself. */
  readonly server: EmbeddedPostgres;
  readonly appUrl: string;
  readonly tenants: string[];
  readonly fleet: Fleet;
  /** Half of the workers reach PostgreSQL through this one… */
  readonly poolProxy: TcpProxy;
  /** …and one of those its guard connection through this one, which is never silenced. */
  readonly guardProxy: TcpProxy;
  /** The server's own, never silenced: what a request asks of the database has no limit on the client's side. */
  readonly serverProxy: TcpProxy;
  /** The worker in each place; a dead one is replaced. */
  readonly places: WorkerProcess[];
  /** The product itself, when the run is over its pipelines too. */
  readonly product: ProductStage | null;
  readonly done: Record<FaultKind, number>;
  readonly cutsByKind: Record<string, number>;
  readonly killed: { workerId: string; at: number; target: FaultTarget }[];
  readonly stopped: { workerId: string; at: number; wokenAt: number; target: FaultTarget }[];
  /** When PostgreSQL was ready again after each kill. */
  readonly readyAgainAt: number[];
  owner<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>;
  placeWorker(place: number): void;
  close(options: { keepFiles: boolean }): Promise<void>;
}

export async function openStage(quota: ChaosQuota, seed: number, sluice: CommandLine): Promise<ChaosStage> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'sluice-chaos-pg-'));
  await chmod(dataDir, 0o755);
  const server = await joinEmbeddedPostgres({ dataDir, settings: { max_connections: '200' } });
  const appUrl = await prepareDatabase(server.ownerUrl);
  const socket = {
    path: path.join(decodeURIComponent(new URL(appUrl).host.split(':')[0] ?? ''), '.s.PGSQL.5432'),
  };
  const poolProxy = await startTcpProxy(socket);
  const guardProxy = await startTcpProxy(socket);
  const serverProxy = await startTcpProxy(socket);
  const fleet = await openFleet();
  const places: WorkerProcess[] = [];
  const tenants = Array.from({ length: quota.tenants }, (_, number) => `tenant-${number}`);
  const owner = <Row extends object>(text: string, values: unknown[] = []) =>
    queryOnce<Row & Record<string, unknown>>(server.ownerUrl, text, values);
  await owner('insert into tenants (tenant_id, name) select t, t from unnest($1::text[]) t', [tenants]);
  const { ownerUrl } = server;
  const ports = { poolPort: poolProxy.port, guardPort: guardProxy.port, serverPort: serverProxy.port };
  const product =
    quota.product === null
      ? null
      : await openProduct({
          ...{ sluice, database: { owner, ownerUrl }, quota: quota.product, leaseMs: quota.leaseMs, seed },
          envOf: (place) => productEnv(place, ownerUrl, ports),
        });
  return {
    ...{ quota, server, appUrl, tenants, fleet, poolProxy, guardProxy, serverProxy, places, product, owner },
    random: seededRandom(seed),
    done: { kills: 0, zombies: 0, backends: 0, restarts: 0, cuts: 0 },
    cutsByKind: {},
    killed: [],
    stopped: [],
    readyAgainAt: [],
    placeWorker(place) {
      places[place] = fleet.launch({ ...urlsOfPlace(place, appUrl, ports), leaseMs: quota.leaseMs });
    },
    async close({ keepFiles }) {
      await product?.close();
      await fleet.close({ keepFiles });
      await poolProxy.close();
      await guardProxy.close();
      await serverProxy.close();
      await server.leave();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function prepareDatabase(ownerUrl: string): Promise<string> {
  await ensureRoles(ownerUrl);
  await migrateUp(ownerUrl);
  await ensureLogins(ownerUrl);
  await queryOnce(ownerUrl, probeTable);
  return appUrlFor(ownerUrl);
}

interface ProxyPorts {
  poolPort: number;
  guardPort: number;
  serverPort: number;
}

function urlsOfPlace(place: number, appUrl: string, { poolPort, guardPort }: ProxyPorts): SpawnSettings {
  if (place % 4 === 0) return { appUrl: through(poolPort, appUrl), directUrl: through(guardPort, appUrl) };
  if (place % 4 === 1) return { appUrl: through(poolPort, appUrl), directUrl: appUrl };
  return { appUrl, directUrl: appUrl };
}

/** The same for processes of the product; place -1 is the server. */
function productEnv(
  place: number,
  ownerUrl: string,
  { poolPort, guardPort, serverPort }: ProxyPorts,
): Record<string, string> {
  if (place === -1) return { DATABASE_URL: through(serverPort, ownerUrl), DATABASE_DIRECT_URL: ownerUrl };
  if (place === 0)
    return {
      DATABASE_URL: through(poolPort, ownerUrl),
      DATABASE_DIRECT_URL: through(guardPort, ownerUrl),
    };
  if (place % 2 !== 0) return { DATABASE_URL: through(poolPort, ownerUrl), DATABASE_DIRECT_URL: ownerUrl };
  return {};
}

function through(port: number, target: string): string {
  const url = new URL(target);
  return `postgres://${url.username}:${url.password}@127.0.0.1:${port}${url.pathname}`;
}
