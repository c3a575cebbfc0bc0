import type { Socket } from 'node:net';
import pino from 'pino';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { leaseMs, useWorld, type World } from '../../../../test/support/worlds/job-world.ts';
import { eventually } from '../../../../test/support/worlds/kernel.ts';
import { Database, type Tx } from '../../../lib/postgres/db.ts';
import { sql } from '../../../lib/postgres/sql.ts';
import { dispatch } from '../dispatch/service.ts';
import type { Job } from '../types.ts';
import { claimMany, lockIfHeld } from './lease-store.ts';
import { sessionName } from './membership.ts';
import { Rescuer } from './rescuer.ts';

const database = useDatabase();
let world: World;
let rescuer: Rescuer;
useWorld(database, (opened) => {
  world = opened;
  const { db, wake, metrics } = world.deps;
  rescuer = new Rescuer({ db, wake, metrics, logger: pino({ level: 'silent' }), leaseMs, maxStrikes: 3 });
});

// COPY is refused on tables with row-level security, so this one has none.
beforeAll(() =>
  database.owner('create table incoming (line text); grant insert on incoming to sluice_tenant'),
);

interface Connection {
  stream: Socket;
  query(text: string): void;
}

const connectionOf = (tx: Tx) => (tx.client as unknown as { connection: Connection }).connection;

/** What a process may be in the middle of when it is stopped; PostgreSQL waits for it and counts it as busy. */
const standstills = [
  { what: 'the rows of a COPY', begin: beginCopy },
  { what: 'the second half of a parameter', begin: sendHalf },
  { what: 'its answer to be read', begin: leaveUnread },
];

function beginCopy(tx: Tx): void {
  connectionOf(tx).query('copy incoming from stdin');
}

function sendHalf(tx: Tx): void {
  const { stream } = connectionOf(tx);
  stream.write(message('P', Buffer.from('\0select $1::text\0\0\0')));
  const bind = message('B', Buffer.alloc(100_000));
  stream.write(bind.subarray(0, bind.length / 2));
}

function leaveUnread(tx: Tx): void {
  const connection = connectionOf(tx);
  connection.stream.pause();
  connection.query("select repeat('x', 1000000) from generate_series(1, 100)");
}

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

interface Stopped {
  workerId: string;
  job: Job;
  pid: number;
  wake(): void;
  /** What becomes of the transaction. */
  ended: Promise<unknown>;
}

/** A process that stands still inside a transaction that holds the fence of an expired lease. */
async function stopIn(standstill: (tx: Tx) => void, waitsFor = 'Client'): Promise<Stopped> {
  const { workerId, job } = await expiredLease();
  const applicationName = sessionName(workerId);
  const own = new Database({ url: database.appUrl, applicationName, maxConnections: 1 });
  let pid = 0;
  let wake: () => void = () => {};
  const ended = own.tenant(world.tenantId, async (tx) => {
    expect(await lockIfHeld(tx, job)).not.toBeNull();
    pid = (await tx.find<{ pid: number }>(sql`select pg_backend_pid() as pid`))?.pid ?? 0;
    standstill(tx);
    const { stream } = connectionOf(tx);
    wake = () => stream.resume();
    await new Promise((_, reject) => stream.once('close', () => reject(new Error('The connection is gone'))));
  });
  ended.catch(() => {});
  // What it has locked would keep the next test from tidying up.
  onTestFinished(async () => {
    await database.owner('select pg_terminate_backend($1)', [pid]);
    wake();
    await ended.catch(() => {});
    await own.close();
  });
  await eventually(async () => (await waitOf(pid)) === waitsFor, 'PostgreSQL waits for the process');
  return { workerId, job, pid, ended, wake };
}

async function expiredLease(): Promise<{ workerId: string; job: Job }> {
  const { tenantId, deps } = world;
  await dispatch(deps, tenantId, { pipeline: 'probe', subjectId: 'stopped', maxRetries: 5, createdBy: 't' });
  const workerId = await world.enter();
  const claim = { workerId, pipelines: ['probe'], limit: 1, leaseMs, tenantLimit: 10, tenantId };
  const [job] = await deps.db.kernel((tx) => claimMany(tx, claim));
  if (!job) throw new Error('There was nothing to claim');
  const past = "clock_timestamp() - interval '1 s'";
  await world.meddle(`update ingestion_jobs set lease_expires_at = ${past} where job_id = $1`, job.jobId);
  return { workerId, job };
}

/** What the session, in the middle of a statement, waits for; nothing when it is not in one. */
async function waitOf(pid: number): Promise<string | undefined> {
  const [row] = await database.owner<{ wait: string }>(
    "select wait_event_type as wait from pg_stat_activity where pid = $1 and state = 'active'",
    [pid],
  );
  return row?.wait;
}

/** The worker has not been heard of for longer than a lease. */
async function silence({ workerId }: Stopped): Promise<void> {
  const past = "clock_timestamp() - interval '1 h'";
  await database.owner(`update workers set heartbeat_at = ${past} where worker_id = $1`, [workerId]);
}

test.each(standstills)('a job goes on elsewhere when PostgreSQL waits for $what', async ({ begin }) => {
  const stopped = await stopIn(begin);
  await silence(stopped);
  const rescue = async () => (await rescuer.rescue()).some(({ jobId }) => jobId === stopped.job.jobId);
  await eventually(rescue, 'the lease is taken back');
  stopped.wake();
  await expect(stopped.ended).rejects.toThrow('The connection is gone');
  expect(await world.rows()).toMatchObject([{ leasedBy: null, epoch: 2, strikes: [] }]);
});

test('a transaction is left alone while its worker is heard of', async () => {
  const slow = await stopIn(beginCopy);
  for (let look = 0; look < 5; look += 1) expect(await rescuer.rescue()).toEqual([]);
  expect(await waitOf(slow.pid)).toBe('Client');
});

test('a transaction is left alone while another worker is silent', async () => {
  const slow = await stopIn(beginCopy);
  await silence({ ...slow, workerId: await world.enter() });
  for (let look = 0; look < 5; look += 1) expect(await rescuer.rescue()).toEqual([]);
  expect(await waitOf(slow.pid)).toBe('Client');
});

test('a statement that still runs is left to its end, even if its worker is silent', async () => {
  const busy = await stopIn((tx) => connectionOf(tx).query('select pg_sleep(600)'), 'Timeout');
  await silence(busy);
  for (let look = 0; look < 5; look += 1) expect(await rescuer.rescue()).toEqual([]);
  expect(await waitOf(busy.pid)).toBe('Timeout');
});
