import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { appUrlFor, ensureAppLogin, ensureRoles } from '../../src/lib/database-roles.ts';
import { type EmbeddedPostgres, joinEmbeddedPostgres } from '../../src/lib/embedded-postgres.ts';
import { migrateUp } from '../../src/lib/migrate.ts';
import { queryOnce } from '../postgres-server.ts';
import { probeTable } from '../probe-pipeline.ts';
import { startTcpProxy, type TcpProxy } from '../tcp-proxy.ts';
import type { ChaosQuota, FaultKind } from './chaos-quota.ts';
import { type SeededRandom, seededRandom } from './seeded-random.ts';
import { type Fleet, openFleet, type SpawnSettings, type WorkerProcess } from './worker-fleet.ts';

/** Everything that faults happen to, and what has happened so far. */
export interface ChaosStage {
  readonly quota: ChaosQuota;
  readonly random: SeededRandom;
  /** A PostgreSQL of its own, because it is killed; it comes up again by itself. */
  readonly server: EmbeddedPostgres;
  readonly appUrl: string;
  readonly tenants: string[];
  readonly fleet: Fleet;
  /** Half of the workers reach PostgreSQL through this one… */
  readonly poolProxy: TcpProxy;
  /** …and one of those its guard connection through this one, which is never silenced. */
  readonly guardProxy: TcpProxy;
  /** The worker in each place; whoever dies is replaced. */
  readonly places: WorkerProcess[];
  readonly done: Record<FaultKind, number>;
  readonly cutsByKind: Record<string, number>;
  readonly killed: { workerId: string; at: number }[];
  readonly stopped: { workerId: string; at: number; wokenAt: number }[];
  /** When PostgreSQL answered again after each of its deaths. */
  readonly readyAgainAt: number[];
  owner<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>;
  placeWorker(place: number): void;
  close(options: { keepFiles: boolean }): Promise<void>;
}

export async function openStage(quota: ChaosQuota, seed: number): Promise<ChaosStage> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'sluice-chaos-pg-'));
  await chmod(dataDir, 0o755);
  const server = await joinEmbeddedPostgres({ dataDir, settings: { max_connections: '200' } });
  const appUrl = await prepareDatabase(server.ownerUrl);
  const socket = {
    path: path.join(decodeURIComponent(new URL(appUrl).host.split(':')[0] ?? ''), '.s.PGSQL.5432'),
  };
  const poolProxy = await startTcpProxy(socket);
  const guardProxy = await startTcpProxy(socket);
  const fleet = await openFleet();
  const places: WorkerProcess[] = [];
  const tenants = Array.from({ length: quota.tenants }, (_, number) => `tenant-${number}`);
  const owner = <Row extends object>(text: string, values: unknown[] = []) =>
    queryOnce<Row & Record<string, unknown>>(server.ownerUrl, text, values);
  await owner('insert into tenants (tenant_id, name) select t, t from unnest($1::text[]) t', [tenants]);
  return {
    quota,
    random: seededRandom(seed),
    server,
    appUrl,
    tenants,
    fleet,
    poolProxy,
    guardProxy,
    places,
    done: { kills: 0, zombies: 0, backends: 0, restarts: 0, cuts: 0 },
    cutsByKind: {},
    killed: [],
    stopped: [],
    readyAgainAt: [],
    owner,
    placeWorker(place) {
      const urls = urlsOfPlace(place, { appUrl, poolPort: poolProxy.port, guardPort: guardProxy.port });
      places[place] = fleet.launch({ ...urls, leaseMs: quota.leaseMs });
    },
    async close({ keepFiles }) {
      await fleet.close({ keepFiles });
      await poolProxy.close();
      await guardProxy.close();
      await server.leave();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function prepareDatabase(ownerUrl: string): Promise<string> {
  await ensureRoles(ownerUrl);
  await migrateUp(ownerUrl);
  await ensureAppLogin(ownerUrl);
  await queryOnce(ownerUrl, probeTable);
  return appUrlFor(ownerUrl);
}

function urlsOfPlace(
  place: number,
  { appUrl, poolPort, guardPort }: { appUrl: string; poolPort: number; guardPort: number },
): SpawnSettings {
  const through = (port: number): string => {
    const url = new URL(appUrl);
    return `postgres://${url.username}:${url.password}@127.0.0.1:${port}${url.pathname}`;
  };
  if (place % 4 === 0) return { appUrl: through(poolPort), directUrl: through(guardPort) };
  if (place % 4 === 1) return { appUrl: through(poolPort), directUrl: appUrl };
  return { appUrl, directUrl: appUrl };
}
