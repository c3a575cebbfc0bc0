import pg from 'pg';
import { databaseErrors } from './db-errors.ts';
import { assertWritable } from './pool/writable.ts';

/** A connection of its own that holds an advisory lock for as long as it lives, and listens on a channel. */
export interface GuardConnection {
  /** Throws when the connection no longer responds, or its server has become read-only. */
  ping(): Promise<void>;
  onEnd(listener: () => void): void;
  close(): Promise<void>;
}

export interface GuardOptions {
  url: string;
  lockKey: string;
  channel: string;
  onNotification: (payload: string) => void;
  /** A cut network leaves a connection that never responds: a ping that takes this long has failed. */
  answerWithinMs: number;
}

/** Null when a pooler is in between: there neither locks nor notifications belong to one client. */
export async function openGuardConnection(options: GuardOptions): Promise<GuardConnection | null> {
  const client = new pg.Client({
    connectionString: options.url,
    application_name: 'sluice-guard',
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
  });
  const ask = (text: string, values: string[] = []) =>
    answeredWithin(client.query<{ pid: number }>(text, values), options.answerWithinMs);
  const askWritable = () => answeredWithin(assertWritable(client), options.answerWithinMs);
  // What goes wrong is told by the end of the connection, or by the statement that runs.
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await ask('select pg_backend_pid() as pid');
    // A pooler returns a process id of its own; PostgreSQL's is that of the backend.
    if (rows[0]?.pid !== (client as unknown as { processID: number }).processID) {
      await client.end();
      return null;
    }
    await askWritable();
    client.on('notification', ({ payload }) => options.onNotification(payload ?? ''));
    await ask('select pg_advisory_lock($1)', [options.lockKey]);
    await ask(`listen ${options.channel}`);
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
  return {
    ping: askWritable,
    onEnd: (listener) => void client.once('end', listener),
    close: () => client.end().catch(() => {}),
  };
}

/**
 * When the time is up, pending input is read first: in a process that was stopped, timers are due before it has read a
 * response that came long ago.
 */
async function answeredWithin<T>(answer: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const { database_unavailable: unavailable } = databaseErrors.raise;
    const giveUp = () => reject(unavailable(`The guard connection has not responded for ${ms} ms`));
    timer = setTimeout(() => setImmediate(giveUp), ms);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
