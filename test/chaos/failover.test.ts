import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { Database } from '../../src/lib/postgres/db.ts';
import { openGuardConnection } from '../../src/lib/postgres/guard-connection.ts';
import { migrateUp } from '../../src/lib/postgres/migrate.ts';
import { appUrlFor, ensureLogins, ensureRoles } from '../../src/lib/postgres/roles.ts';
import { sql } from '../../src/lib/postgres/sql.ts';
import { findSystemPostgres, queryOnce } from '../support/fakes/postgres-server.ts';
import {
  acceptWrites,
  demote,
  type ReplicatedPostgres,
  startReplicatedPostgres,
} from '../support/fakes/replicated-postgres.ts';
import { startTcpProxy, type TcpProxy } from '../support/fakes/tcp-proxy.ts';
import { useServer } from '../support/servers/server.ts';
import type { TestDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';

const bin = findSystemPostgres();
if (bin === null) {
  console.log('Left out: failover to a replica. There is no PostgreSQL under /usr/lib/postgresql.');
}

test('a system PostgreSQL is installed where no test may be left out', () => {
  expect(bin !== null || process.env.CI !== 'true').toBe(true);
});

const testPair = test.runIf(bin !== null);
const connections = 10;

let pair: ReplicatedPostgres;
let proxy: TcpProxy;
let db: Database;
const database: TestDatabase = {
  get db() {
    return db;
  },
  get ownerUrl() {
    return pair.primary.ownerUrl;
  },
  get appUrl() {
    const { username, password, pathname } = new URL(appUrlFor(pair.primary.ownerUrl));
    return `postgres://${username}:${password}@127.0.0.1:${proxy.port}${pathname}`;
  },
  owner: (text, values) => queryOnce(pair.primary.ownerUrl, text, values),
};
beforeAll(async () => {
  if (bin === null) return;
  pair = await startReplicatedPostgres(bin);
  const { ownerUrl } = pair.primary;
  await ensureRoles(ownerUrl);
  await migrateUp(ownerUrl);
  await ensureLogins(ownerUrl);
  await database.owner(`insert into tenants (tenant_id, name) values ('acme', 'Acme')`);
  proxy = await startTcpProxy(pair.primary.address);
  db = open();
});
const server = bin === null ? null : useServer(database);
beforeEach(async () => {
  if (bin === null) return;
  proxy.pointTo(pair.primary.address);
  await acceptWrites(pair.primary);
  await eventually(
    () =>
      write(db).then(
        () => true,
        () => false,
      ),
    'the primary accepts writes',
  );
});
afterAll(async () => {
  if (bin === null) return;
  await db.close();
  await proxy.close();
  await pair.stop();
});

function open(connectTimeoutMs = 20_000): Database {
  return new Database({
    url: database.appUrl,
    applicationName: 'failover',
    maxConnections: connections,
    connectTimeoutMs,
  });
}

let written = 0;
function write(to: Database): Promise<unknown> {
  written += 1;
  const name = `w${written}`;
  return to.tenant('acme', (tx) =>
    tx.run(
      sql`insert into workspaces (tenant_id, workspace_id, name) values ('acme', gen_random_uuid(), ${name})`,
    ),
  );
}

/** The codes of the failures of so many writes, a few at a time. */
async function failuresOf(to: Database, count: number, work = write): Promise<string[]> {
  const failures: string[] = [];
  for (let done = 0; done < count; done += 5) {
    const ends = await Promise.allSettled(Array.from({ length: 5 }, () => work(to)));
    for (const end of ends) if (end.status === 'rejected') failures.push(String(end.reason.code));
  }
  return failures;
}

const guardOptions = () => ({
  ...{ url: database.appUrl, lockKey: '7', channel: 'guarded', answerWithinMs: 5_000 },
  onNotification: () => {},
});

/** Every connection of the pools is open and at rest. */
async function fill(to: Database): Promise<void> {
  const hold = () => to.tenant('acme', (tx) => tx.run(sql`select pg_sleep(0.3)`));
  const holdKernel = () => to.kernel((tx) => tx.run(sql`select pg_sleep(0.3)`));
  await Promise.all(Array.from({ length: connections }, (_, n) => (n % 2 ? hold() : holdKernel())));
  await Promise.all(Array.from({ length: connections }, () => hold()));
}

testPair(
  'a server that becomes read-only is away: 503 with Retry-After, until it accepts writes',
  async () => {
    if (server === null) return;
    const bearer = await server.bearer({ tenantId: 'acme' });
    const post = (name: string) =>
      server.app.inject({ method: 'POST', url: '/api/workspaces', headers: bearer, payload: { name } });
    expect((await post('before')).statusCode).toBe(201);
    await fill(db);
    const impatient = open(300);
    onTestFinished(() => impatient.close());
    const guard = await openGuardConnection(guardOptions());
    onTestFinished(() => guard?.close());
    await guard?.ping();
    await demote(pair.primary);
    await eventually(async () => (await failuresOf(impatient, 5)).length > 0, 'the server accepts no writes');
    const refused = await post('meanwhile');
    expect([refused.statusCode, refused.json().code]).toEqual([503, 'database_unavailable']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    await expect(guard?.ping()).rejects.toMatchObject({ code: 'database_unavailable' });
    await acceptWrites(pair.primary);
    await eventually(async () => (await failuresOf(db, 5)).length === 0, 'the server accepts writes');
    expect(await failuresOf(db, 100)).toEqual([]);
    expect((await post('after')).statusCode).toBe(201);
  },
);

testPair('what finds the address at a replica waits until it leads to the primary', async () => {
  proxy.pointTo(pair.replica.address);
  const patient = open();
  onTestFinished(() => patient.close());
  const waiting = write(patient);
  const end = await Promise.race([waiting.then(() => 'written'), sleep(1_000, 'waiting')]);
  expect(end).toBe('waiting');
  const hasty = open(300);
  onTestFinished(() => hasty.close());
  expect(await failuresOf(hasty, 5)).toEqual(Array.from({ length: 5 }, () => 'database_unavailable'));
  await expect(hasty.read('acme', (tx) => tx.find(sql`select 1 as one`))).rejects.toMatchObject({
    code: 'database_unavailable',
  });
  proxy.pointTo(pair.primary.address);
  await waiting;
  expect(await failuresOf(hasty, 100)).toEqual([]);
});

testPair('a worker’s guard connection does not settle at a replica', async () => {
  proxy.pointTo(pair.replica.address);
  await expect(openGuardConnection(guardOptions())).rejects.toMatchObject({ code: 'database_unavailable' });
});

testPair('after a failover no connection to the old primary is used again', async () => {
  const survivor = open();
  onTestFinished(() => survivor.close());
  await fill(survivor);
  await demote(pair.primary);
  await queryOnce(pair.replica.ownerUrl, 'select pg_promote()');
  proxy.pointTo(pair.replica.address);
  const first = await failuresOf(survivor, 5);
  expect(first.filter((code) => code !== 'database_unavailable')).toEqual([]);
  const startedAt = performance.now();
  const later = await failuresOf(survivor, 225);
  const passed = Math.round(performance.now() - startedAt);
  console.log(
    `Failover: ${first.length} of the first 5 writes failed, ${later.length} of the next 225 (${passed} ms)`,
  );
  expect(later).toEqual([]);
  expect(await failuresOf(survivor, 20, (to) => to.kernel((tx) => tx.run(sql`select 1`)))).toEqual([]);
});
