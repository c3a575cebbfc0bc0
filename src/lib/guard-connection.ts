import pg from 'pg';

/** A connection of its own that holds an advisory lock for as long as it lives, and listens on a channel. */
export interface GuardConnection {
  /** Throws when the connection no longer answers. */
  ping(): Promise<void>;
  onEnd(listener: () => void): void;
  close(): Promise<void>;
}

export interface GuardOptions {
  url: string;
  lockKey: string;
  channel: string;
  onNotification: (payload: string) => void;
  /** A cut network leaves a connection that never answers: a ping that takes this long has failed. */
  answerWithinMs: number;
}

/** Null when a pooler is in between: there neither locks nor notifications belong to one client. */
export async function openGuardConnection(options: GuardOptions): Promise<GuardConnection | null> {
  const client = new pg.Client({
    connectionString: options.url,
    application_name: 'sluice-worker',
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
    query_timeout: options.answerWithinMs,
  });
  // What goes wrong is told by the end of the connection, or by the statement that runs.
  client.on('error', () => {});
  try {
    await client.connect();
    if (!(await reachesPostgres(client))) {
      await client.end();
      return null;
    }
    client.on('notification', ({ payload }) => options.onNotification(payload ?? ''));
    await client.query('select pg_advisory_lock($1)', [options.lockKey]);
    await client.query(`listen ${options.channel}`);
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
  return {
    ping: async () => void (await client.query('select 1')),
    onEnd: (listener) => void client.once('end', listener),
    close: () => client.end().catch(() => {}),
  };
}

/** A pooler answers with a process id of its own making; PostgreSQL's is its backend's. */
async function reachesPostgres(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid === (client as unknown as { processID: number }).processID;
}
