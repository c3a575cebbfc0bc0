import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { isReadOnlyServer, toDatabaseError } from '../db-errors.ts';
import { Turns } from './turns.ts';
import { assertWritable } from './writable.ts';

export interface ConnectionWait {
  /** Until the connection was there, opening a new one included. */
  totalMs: number;
  /** The part of it that was spent in the queue because every connection was in use: others are crowded out. */
  queuedMs: number;
}

export interface PoolOptions {
  url: string;
  applicationName: string;
  maxConnections: number;
  connectTimeoutMs: number;
  types: pg.CustomTypesConfig;
  onError: (error: unknown) => void;
}

const firstRetryMs = 50;
const longestRetryMs = 400;

/**
 * The connections of one login. Tenants that wait for one get it by turns, not first come, first served. A connection
 * is used only while it leads to a server that accepts writes: a new one is asked, and when one turns out to be
 * read-only, all that were opened before are dropped when next touched. After a failover they lead to the old primary.
 */
export class ConnectionPool {
  readonly driver: pg.Pool;
  readonly #turns: Turns;
  readonly #connectTimeoutMs: number;
  /** Which generation a connection belongs to; those of an older one are dropped. */
  readonly #generationOf = new WeakMap<pg.ClientBase, number>();
  readonly #fresh = new WeakSet<pg.ClientBase>();
  #generation = 0;

  constructor(options: PoolOptions) {
    this.#connectTimeoutMs = options.connectTimeoutMs;
    this.#turns = new Turns(options.maxConnections);
    this.driver = new pg.Pool({
      connectionString: options.url,
      application_name: options.applicationName,
      max: options.maxConnections,
      connectionTimeoutMillis: options.connectTimeoutMs,
      idleTimeoutMillis: 30_000,
      keepAlive: true,
      types: options.types,
      onConnect: (client) => this.#examine(client),
    });
    // An idle connection that dies (server restart) is replaced by the pool; unheard, the event would end the process.
    this.driver.on('error', options.onError);
    // A connection in use has no listener of the pool's; the statement that runs or comes next reports the error.
    this.driver.on('connect', (client) => {
      this.#fresh.add(client);
      client.on('error', () => {});
    });
  }

  /** `tenant` is whose turn it takes; work of Sluice's own takes turns like a tenant. Give it back with `release`. */
  async connect(tenant: string): Promise<{ client: pg.PoolClient; wait: ConnectionWait }> {
    const startedAt = performance.now();
    const deadline = startedAt + this.#connectTimeoutMs;
    const wasQueued = await this.#turns.take(tenant, this.#connectTimeoutMs);
    const turnAt = performance.now();
    try {
      const { client, isNew } = await this.#open(deadline);
      const totalMs = performance.now() - startedAt;
      const queuedMs = isNew ? turnAt - startedAt : totalMs;
      return { client, wait: { totalMs, queuedMs: wasQueued ? queuedMs : 0 } };
    } catch (error) {
      this.#turns.release();
      throw toDatabaseError(error);
    }
  }

  /** With `isBroken` the connection is closed instead of kept. */
  release(client: pg.PoolClient, isBroken = false): void {
    client.release(isBroken || this.#isOld(client));
    this.#turns.release();
  }

  /** One statement outside of any transaction of ours. A connection on which it fails is closed. */
  async query<Row extends object>(query: pg.QueryConfig): Promise<Row[]> {
    const { client } = await this.connect('');
    try {
      const { rows } = await client.query<Row>(query);
      this.release(client);
      return rows;
    } catch (error) {
      this.release(client, true);
      throw toDatabaseError(error);
    }
  }

  /** Uses none of the present connections any more. */
  renew(): void {
    this.#generation += 1;
  }

  close(): Promise<void> {
    return this.driver.end();
  }

  /** Waits for a server that accepts writes, until the deadline: a failover takes its time. */
  async #open(deadline: number): Promise<{ client: pg.PoolClient; isNew: boolean }> {
    for (let pauseMs = firstRetryMs; ; pauseMs = Math.min(pauseMs * 2, longestRetryMs)) {
      try {
        return await this.#openOnce();
      } catch (error) {
        if (!isReadOnlyServer(error) || performance.now() + pauseMs > deadline) throw error;
      }
      await sleep(pauseMs * (0.75 + Math.random() / 2));
    }
  }

  async #openOnce(): Promise<{ client: pg.PoolClient; isNew: boolean }> {
    for (;;) {
      const client = await this.driver.connect();
      if (!this.#isOld(client)) return { client, isNew: this.#fresh.delete(client) };
      client.release(true);
    }
  }

  #isOld(client: pg.ClientBase): boolean {
    return this.#generationOf.get(client) !== this.#generation;
  }

  async #examine(client: pg.ClientBase): Promise<void> {
    this.#generationOf.set(client, this.#generation);
    await assertWritable(client, this.#connectTimeoutMs);
  }
}
