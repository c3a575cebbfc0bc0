import type { Socket } from 'node:net';
import pg from 'pg';
import { isSluiceError } from '../errors.ts';
import { databaseErrors, toDatabaseError } from './db-errors.ts';
import { inlineParameters, quoteLiteral, type Sql } from './sql.ts';

/**
 * The only way to the database. Every transaction runs under a group role that the application login has to step
 * into (`set role`), and names its tenant, both in the same round trip as `begin`. See docs/decisions/0003.
 */
export type DatabaseRole =
  | 'sluice_tenant'
  | 'sluice_kernel'
  | 'sluice_intake'
  | 'sluice_parse'
  | 'sluice_promote'
  | 'sluice_cleanup';

export interface TransactionContext {
  role: DatabaseRole;
  tenantId?: string;
  isReadOnly?: boolean;
  /** Settings that hold until the end of this transaction, such as `idle_in_transaction_session_timeout`. */
  settings?: Record<string, string>;
  /** After this long, or on this signal, the connection is ended: in a cut network a response never comes. */
  limitMs?: number;
  signal?: AbortSignal;
}

export interface Tx {
  /** All rows. */
  rows<Row extends object>(statement: Sql): Promise<Row[]>;
  /** The first row, or null. */
  find<Row extends object>(statement: Sql): Promise<Row | null>;
  /** How many rows the statement touched. */
  run(statement: Sql): Promise<number>;
  /** Runs once the transaction has committed; its failure is reported to the pool's `onError`, not to the caller. */
  afterCommit(action: () => void): void;
  /**
   * Part of the transaction under another role, for the boundaries between workers: `work` can do what that role may
   * and nothing else. Afterwards the transaction goes on under its own role. Settings hold until the transaction ends.
   */
  as<T>(role: DatabaseRole, work: (tx: Tx) => Promise<T>, settings?: Record<string, string>): Promise<T>;
  /** The driver's client, for COPY and cursors inside this transaction. */
  readonly client: pg.ClientBase;
  /** How long it took to get the connection. */
  readonly wait: ConnectionWait;
}

export interface ConnectionWait {
  /** Until the connection was there, opening a new one included. */
  totalMs: number;
  /** The part of it that was spent in the queue because every connection was in use: others are crowded out. */
  queuedMs: number;
}

export interface DatabaseOptions {
  url: string;
  applicationName: string;
  maxConnections: number;
  connectTimeoutMs?: number;
  /** Settings of every transaction, unless it brings its own; a pooler would refuse them as startup parameters. */
  settings?: Record<string, string>;
  /**
   * A connection that has been silent for this long inside a transaction is ended; above `statement_timeout`, because
   * a live server has responded by then. Transactions without that timeout are left alone.
   */
  silenceMs?: number;
  onError?: (error: unknown) => void;
  onTransaction?: (timing: { waitMs: number; totalMs: number }) => void;
}

export class Database {
  readonly pool: pg.Pool;
  readonly #onError: (error: unknown) => void;
  readonly #onTransaction: DatabaseOptions['onTransaction'];
  readonly #settings: Record<string, string>;
  readonly #silenceMs: number | undefined;

  constructor(options: DatabaseOptions) {
    this.#onError = options.onError ?? (() => {});
    this.#onTransaction = options.onTransaction;
    this.#settings = options.settings ?? {};
    this.#silenceMs = options.silenceMs;
    this.pool = new pg.Pool({
      connectionString: options.url,
      application_name: options.applicationName,
      max: options.maxConnections,
      connectionTimeoutMillis: options.connectTimeoutMs ?? 10_000,
      idleTimeoutMillis: 30_000,
      keepAlive: true,
      types: columnTypes,
    });
    // An idle connection that dies (server restart) is replaced by the pool; unheard, the event would end the process.
    this.pool.on('error', this.#onError);
    // A connection in use has no listener of the pool's; the statement that runs or comes next reports the error.
    this.pool.on('connect', (client) => client.on('error', () => {}));
  }

  tenant<T>(tenantId: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.transaction({ role: 'sluice_tenant', tenantId }, work);
  }

  kernel<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.transaction({ role: 'sluice_kernel' }, work);
  }

  /** A transaction that PostgreSQL keeps from writing: the only kind that a route may open. */
  read<T>(tenantId: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.transaction({ role: 'sluice_tenant', tenantId, isReadOnly: true }, work);
  }

  /** The same over all tenants, for what only the kernel's role may see. */
  readAcross<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.transaction({ role: 'sluice_kernel', isReadOnly: true }, work);
  }

  /** One statement in its own transaction, context and all in one round trip. */
  async statement<Row extends object>(context: TransactionContext, statement: Sql): Promise<Row[]> {
    const { client, wait } = await this.#connect();
    const connectedAt = performance.now();
    const unwatch = watch(client, context, this.#silenceMs);
    try {
      const rows = await queryTogether<Row>(client, [
        contextStatement(context, this.#settings),
        inlineParameters(statement),
      ]);
      client.release();
      return rows;
    } catch (error) {
      // PostgreSQL has rolled the message back as one transaction; only a broken connection is left to be dropped.
      const broken = toDatabaseError(error);
      client.release(isSluiceError(broken) && broken.code === 'database_unavailable' ? broken : undefined);
      throw broken;
    } finally {
      unwatch();
      this.#onTransaction?.({ waitMs: wait.totalMs, totalMs: performance.now() - connectedAt });
    }
  }

  /**
   * `first`, if given, travels with the opening of the transaction, and its rows are handed to `work`: a fence costs
   * no round trip of its own.
   */
  async transaction<T, First extends object = object>(
    context: TransactionContext,
    work: (tx: Tx, firstRows: First[]) => Promise<T>,
    first?: Sql,
  ): Promise<T> {
    const { client, wait } = await this.#connect();
    const connectedAt = performance.now();
    const afterCommit: (() => void)[] = [];
    const unwatch = watch(client, context, this.#silenceMs);
    try {
      const opening = [
        context.isReadOnly ? 'begin read only' : 'begin',
        contextStatement(context, this.#settings),
        ...(first ? [inlineParameters(first)] : []),
      ];
      const firstRows = await queryTogether<First>(client, opening);
      const result = await work(transactionOn(client, { role: context.role, afterCommit, wait }), firstRows);
      await commit(client);
      client.release();
      this.#runAfterCommit(afterCommit);
      return result;
    } catch (error) {
      await rollBackAndRelease(client);
      throw toDatabaseError(error);
    } finally {
      unwatch();
      this.#onTransaction?.({ waitMs: wait.totalMs, totalMs: performance.now() - connectedAt });
    }
  }

  /** Sends notifications, outside of any transaction: inside one they would serialise all commits. */
  async notify(channel: string, payloads: string[]): Promise<void> {
    // A connection that has fallen silent must not keep all later notifications back.
    const query: pg.QueryConfig & { query_timeout: number } = {
      text: 'select pg_notify($1, payload) from unnest($2::text[]) payload',
      values: [channel, payloads],
      query_timeout: 5_000,
    };
    await this.pool.query(query);
  }

  /**
   * Ends the sessions of these names (`application_name`) that are in the middle of a statement and wait for their
   * process: for the rows of a COPY, for the rest of a message, for a response to be read. PostgreSQL counts them as
   * active, so none of its time limits holds. Runs as the login: the group roles may not end its sessions.
   */
  async endStalledSessions(names: string[]): Promise<string[]> {
    const query: pg.QueryConfig & { query_timeout: number } = {
      text: `with stalled as materialized (
               select pid, application_name as name
                 from pg_stat_activity
                where application_name = any($1)
                  and state = 'active'
                  and wait_event_type = 'Client'
                  and datname = current_database()
             )
             select name, pg_terminate_backend(pid) as ended from stalled`,
      values: [names],
      // A connection that has fallen silent must not block the rescuer.
      query_timeout: 5_000,
    };
    try {
      const { rows } = await this.pool.query<{ name: string; ended: boolean }>(query);
      return rows.filter(({ ended }) => ended).map(({ name }) => name);
    } catch (error) {
      throw toDatabaseError(error);
    }
  }

  async close(): Promise<void> {
    await this.pool.end();
  }

  async #connect(): Promise<{ client: pg.PoolClient; wait: ConnectionWait }> {
    const { pool } = this;
    const isFull = pool.waitingCount > 0 || (pool.idleCount === 0 && pool.totalCount >= pool.options.max);
    const startedAt = performance.now();
    try {
      const client = await pool.connect();
      const totalMs = performance.now() - startedAt;
      return { client, wait: { totalMs, queuedMs: isFull ? totalMs : 0 } };
    } catch (error) {
      // Failed waits are the longest, so they count too.
      this.#onTransaction?.({ waitMs: performance.now() - startedAt, totalMs: 0 });
      throw toDatabaseError(error);
    }
  }

  #runAfterCommit(actions: (() => void)[]): void {
    for (const action of actions) {
      try {
        action();
      } catch (error) {
        this.#onError(error);
      }
    }
  }
}

/** Ends the connection at the limit or the signal; the statement that waits on it then fails as unavailable. */
function watch(
  client: pg.PoolClient,
  { limitMs, signal, settings }: TransactionContext,
  silenceMs: number | undefined,
): () => void {
  const unwatchSilence =
    silenceMs === undefined || settings?.statement_timeout === '0'
      ? () => {}
      : watchSilence(client, silenceMs);
  if (limitMs === undefined && signal === undefined) return unwatchSilence;
  // The pool's type leaves `end` out, because it is for emergencies such as this one.
  const end = (): void => void (client as unknown as pg.Client).end().catch(() => {});
  const timer = limitMs === undefined ? undefined : setTimeout(end, limitMs);
  signal?.addEventListener('abort', end, { once: true });
  return () => {
    unwatchSilence();
    clearTimeout(timer);
    signal?.removeEventListener('abort', end);
  };
}

/** When a network is cut silently, no response ever comes, and the process would wait for ever. */
function watchSilence(client: pg.PoolClient, silenceMs: number): () => void {
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  const end = (): void => void stream.destroy();
  stream.setTimeout(silenceMs, end);
  return () => {
    stream.setTimeout(0);
    stream.removeListener('timeout', end);
  };
}

/** Several statements as one message; returns the rows of the last one. */
async function queryTogether<Row extends object>(
  client: pg.ClientBase,
  statements: string[],
): Promise<Row[]> {
  const results: unknown = await client.query(statements.join(';\n'));
  const last = (results as pg.QueryResult<Row>[]).at(-1);
  return last?.rows ?? [];
}

function contextStatement(context: TransactionContext, defaults: Record<string, string>): string {
  return settingStatement({
    role: context.role,
    'app.tenant_id': context.tenantId ?? '',
    ...defaults,
    ...context.settings,
  });
}

function settingStatement(settings: Record<string, string>): string {
  const calls = Object.entries(settings).map(
    ([name, value]) => `set_config(${quoteLiteral(name)}, ${quoteLiteral(value)}, true)`,
  );
  return `select ${calls.join(', ')}`;
}

interface OpenTransaction {
  role: DatabaseRole;
  afterCommit: (() => void)[];
  wait: ConnectionWait;
}

function transactionOn(client: pg.ClientBase, open: OpenTransaction): Tx {
  return {
    client,
    wait: open.wait,
    async rows<Row extends object>(statement: Sql): Promise<Row[]> {
      return (await client.query<Row>(statement.text, statement.values)).rows;
    },
    async find<Row extends object>(statement: Sql): Promise<Row | null> {
      return (await client.query<Row>(statement.text, statement.values)).rows[0] ?? null;
    },
    async run(statement: Sql): Promise<number> {
      return (await client.query(statement.text, statement.values)).rowCount ?? 0;
    },
    afterCommit(action: () => void): void {
      open.afterCommit.push(action);
    },
    async as<T>(role: DatabaseRole, work: (tx: Tx) => Promise<T>, settings = {}): Promise<T> {
      await client.query(settingStatement({ role, ...settings }));
      const result = await work(transactionOn(client, { ...open, role }));
      // After an error the transaction is over anyway, and with it the role.
      await client.query(settingStatement({ role: open.role }));
      return result;
    },
  };
}

/** A failed COMMIT is special: the server may have committed although the response was lost. The caller must check. */
async function commit(client: pg.ClientBase): Promise<void> {
  let tag: string;
  try {
    tag = (await client.query('commit')).command;
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    if (typeof code === 'string' && /^(23|40)/.test(code)) throw error;
    throw databaseErrors.raise.commit_unknown(
      'The connection was lost while a transaction was being committed; it may or may not have taken effect',
      { cause: error },
    );
  }
  // When a statement failed and its error was swallowed, PostgreSQL responds to COMMIT with ROLLBACK.
  if (tag !== 'COMMIT') {
    throw databaseErrors.raise.transaction_aborted(
      'The transaction had failed before its commit, so nothing of it was kept',
    );
  }
}

async function rollBackAndRelease(client: pg.PoolClient): Promise<void> {
  try {
    await client.query('rollback');
    client.release();
  } catch (error) {
    // Not even a rollback gets through: the connection is gone, so is the transaction. Drop it from the pool.
    client.release(error instanceof Error ? error : true);
  }
}

/**
 * bigint arrives as a number (our counts stay far below 2^53), a date stays the text that the database has, because
 * a Date object would shift it by the process's time zone.
 */
const columnTypes: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === pg.types.builtins.INT8) return (value: string) => Number(value);
    if (oid === pg.types.builtins.DATE) return (value: string) => value;
    return pg.types.getTypeParser(oid, format as 'text');
  },
};
