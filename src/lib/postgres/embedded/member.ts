import pg from 'pg';
import { ownerRole } from './cluster.ts';
import { errorCode } from './files.ts';
import { type Layout, requireOwnSocketDir, socketPort } from './layout.ts';
import { findPostmaster, stopPostmaster } from './postmaster.ts';

/** One open session per process: as long as it is open, the server is not stopped. */
export interface Member {
  client: pg.Client;
  /** Of the server that the session is with. */
  pid: number;
  /** Resolves when the session has ended, for whatever reason. */
  ended: Promise<void>;
}

const memberName = 'sluice-member';
const leavingName = 'sluice-leaving';

/** Advisory locks belong to a database, so all members meet in this one, whichever they work in. */
const meetingDatabase = 'postgres';

/** "sluice" as a number. The process that holds this lock may join or stop the server. */
const doorLock = 0x736c75696365n;
const doorLimitMs = 10_000;

const passingCodes = new Set([
  'ECONNREFUSED', // died, its socket file is left
  'ECONNRESET',
  'ENOENT', // not listening yet
  'EPIPE',
  '53300', // too many connections
  '55P03', // another process holds the lock for long
  '57P01', // it was just told to stop
  '57P02', // it crashed
  '57P03', // starting up or shutting down
]);

/** Joins the running server; returns null when no server runs or it stops meanwhile. */
export async function tryBecomeMember(
  layout: Layout,
  request: { password: string; database: string },
): Promise<Member | null> {
  const postmaster = await findPostmaster(layout.postgresDir);
  if (!postmaster?.ready) return null;
  await requireOwnSocketDir(layout);
  const client = new pg.Client({
    application_name: memberName,
    connectionTimeoutMillis: 5_000,
    database: meetingDatabase,
    host: layout.socketDir,
    lock_timeout: doorLimitMs,
    password: request.password,
    port: socketPort,
    user: ownerRole,
  });
  // A lost session is told by `ended`; an error event without a listener would end the process.
  client.on('error', () => undefined);
  const ended = new Promise<void>((resolve) => client.once('end', () => resolve()));
  try {
    await client.connect();
    await enter(client, request.database);
    return { client, pid: postmaster.pid, ended };
  } catch (error) {
    await client.end().catch(() => undefined);
    if (isPassing(error)) return null;
    throw explainRefusal(layout, error);
  }
}

/** Give the session up, and stop the server when it was the last one. A lost session needs no farewell. */
export async function leaveServer(member: Member, layout: Layout): Promise<void> {
  try {
    await member.client.query('select pg_advisory_lock($1)', [doorLock]);
    if ((await countOthers(member.client)) === 0) {
      await stopPostmaster(layout.postgresDir);
    } else {
      // A session gives its locks back before it vanishes from the list: the next one to count would see us still.
      await member.client.query(`set application_name = '${leavingName}'`);
    }
  } catch (error) {
    if (!isPassing(error)) throw error;
  } finally {
    await member.client.end().catch(() => undefined);
  }
}

/**
 * A process that has had the lock is in the list of members that a leaving process counts. If the leaving one was
 * first and stops the server, we wait for the lock while it goes down, and come back with a new server.
 */
async function enter(client: pg.Client, database: string): Promise<void> {
  await client.query('select pg_advisory_lock($1)', [doorLock]);
  const found = await client.query('select 1 from pg_database where datname = $1', [database]);
  if (found.rowCount === 0) await client.query(`create database ${client.escapeIdentifier(database)}`);
  await client.query('select pg_advisory_unlock($1)', [doorLock]);
}

async function countOthers(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ others: number }>(
    `select count(*)::int as others
       from pg_stat_activity
      where application_name = $1
        and pid <> pg_backend_pid()`,
    [memberName],
  );
  return rows[0]?.others ?? 0;
}

function isPassing(error: unknown): boolean {
  if (passingCodes.has(errorCode(error) ?? '')) return true;
  // The driver gives these no code.
  return error instanceof Error && /connection terminated|timeout expired|not queryable/i.test(error.message);
}

function explainRefusal(layout: Layout, error: unknown): Error {
  const reason = error instanceof Error ? error.message : String(error);
  const advice = errorCode(error)?.startsWith('28')
    ? `The password in ${layout.passwordFile} is not the database's: put the right file back from a backup.`
    : `Its log is ${layout.logFile}.`;
  return new Error(`The database in ${layout.postgresDir} refused the connection: ${reason}. ${advice}`, {
    cause: error,
  });
}
