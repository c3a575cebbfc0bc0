import pg from 'pg';
import { isSluiceError } from '../errors.ts';
import { isReadOnlyServer, toDatabaseError } from './db-errors.ts';
import { ConnectionPool, type ConnectionWait } from './pool/connection-pool.ts';
import { kernelUrlFor } from './roles.ts';
import { type Sql, sql, trustedSql } from './sql.ts';
import { TenantSigner } from './tenant-signer.ts';
import { queryBatch } from './transaction/query-batch.ts';
import {
  commit,
  type OpenTransaction,
  rollBack,
  settingStatement,
  transactionOn,
} from './transaction/transaction.ts';
import { watchConnection } from './transaction/watch-connection.ts';

/**
 * The only way to the database. Every transaction runs under a group role that its login has to step into (`set role`),
 * and names its tenant, both in the same round trip as `begin`. What crosses tenants has a login and connections of its
 * own: the login that serves tenants cannot step into the kernel's role. See docs/decisions/0003.
 */
export type DatabaseRole =
  | 'sluice_tenant'
  | 'sluice_kernel'
  | 'sluice_intake'
  | 'sluice_parse'
  | 'sluice_promote'
  | 'sluice_cleanup'
  | 'sluice_effects';

/** A tenant, as somebody may see it. */
export interface TenantView {
  tenantId: string;
  /** Documents that name groups are shown only to these; absent: all documents are shown. */
  groups?: readonly string[] | undefined;
}

export interface TransactionContext extends Partial<TenantView> {
  role: DatabaseRole;
  /** Whose turn it takes when all connections are in use; by default the tenant's. */
  turn?: string;
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
  /** The last statement and the commit in one message: nothing may follow in this transaction. */
  commitWith<Row extends object>(statement: Sql): Promise<Row[]>;
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

export interface DatabaseOptions {
  /** The login that works for one tenant at a time. */
  url: string;
  /** The login that works across tenants; by default the one that belongs to `url`. */
  kernelUrl?: string;
  applicationName: string;
  /** Of both logins together, and at least one of each. */
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

/** The kernel's statements are short: a worker with ten connections commits slices on seven. */
const kernelShare = 0.3;

export class Database {
  readonly pool: ConnectionPool;
  readonly kernelPool: ConnectionPool;
  readonly #signer: TenantSigner;
  readonly #onError: (error: unknown) => void;
  readonly #onTransaction: DatabaseOptions['onTransaction'];
  readonly #settings: Record<string, string>;
  readonly #silenceMs: number | undefined;

  constructor(options: DatabaseOptions) {
    this.#onError = options.onError ?? (() => {});
    this.#onTransaction = options.onTransaction;
    this.#settings = options.settings ?? {};
    this.#silenceMs = options.silenceMs;
    const ofKernel = Math.max(1, Math.floor(options.maxConnections * kernelShare));
    this.pool = this.#openPool(options, options.url, Math.max(1, options.maxConnections - ofKernel));
    this.kernelPool = this.#openPool(options, options.kernelUrl ?? kernelUrlFor(options.url), ofKernel);
    this.#signer = new TenantSigner(() => this.#readSigningKey());
  }

  tenant<T>(tenant: string | TenantView, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.transaction({ role: 'sluice_tenant', ...viewOf(tenant) }, work);
  }

  kernel<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.transaction({ role: 'sluice_kernel' }, work);
  }

  /** A transaction that PostgreSQL keeps from writing: the only kind that a route may open. */
  read<T>(
    tenant: string | TenantView,
    work: (tx: Tx) => Promise<T>,
    settings: Record<string, string> = {},
  ): Promise<T> {
    return this.transaction({ role: 'sluice_tenant', ...viewOf(tenant), isReadOnly: true, settings }, work);
  }

  /** The same over all tenants, for what only the kernel's role may see. */
  readAcross<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.transaction({ role: 'sluice_kernel', isReadOnly: true }, work);
  }

  /** One statement in its own transaction, context and all in one round trip. */
  async statement<Row extends object>(context: TransactionContext, statement: Sql): Promise<Row[]> {
    const opening = await this.#contextStatement(context);
    const { pool, client, wait } = await this.#connect(context);
    const connectedAt = performance.now();
    const unwatch = watchConnection(client, context, this.#silenceMs);
    try {
      const rows = await queryBatch<Row>(client, [opening, statement]);
      pool.release(client);
      return rows;
    } catch (error) {
      // PostgreSQL has rolled the message back as one transaction; only a broken connection is left to be dropped.
      const failure = toDatabaseError(error, context);
      this.#noteFailure(failure);
      pool.release(client, isAway(failure));
      throw failure;
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
    const opening = [
      context.isReadOnly ? beginReadOnly : begin,
      await this.#contextStatement(context),
      ...(first ? [first] : []),
    ];
    const { pool, client, wait } = await this.#connect(context);
    const connectedAt = performance.now();
    const open: OpenTransaction = { role: context.role, afterCommit: [], wait, hasCommitted: false };
    const unwatch = watchConnection(client, context, this.#silenceMs);
    try {
      const firstRows = await queryBatch<First>(client, opening);
      const result = await work(transactionOn(client, open), firstRows);
      if (!open.hasCommitted) await commit(client);
      pool.release(client);
      this.#runAfterCommit(open.afterCommit);
      return result;
    } catch (error) {
      const failure = toDatabaseError(error, context);
      this.#noteFailure(failure);
      const isUsable = await rollBack(client);
      pool.release(client, !isUsable || isAway(failure));
      throw failure;
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
    await this.#outside(this.kernelPool, query);
  }

  /**
   * Ends the sessions of these names (`application_name`) that are in the middle of a statement and wait for their
   * process: for the rows of a COPY, for the rest of a message, for a response to be read. PostgreSQL counts them as
   * active, so none of its time limits holds. Each login ends its own: it may not end those of another.
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
                  and usename = session_user
             )
             select name, pg_terminate_backend(pid) as ended from stalled`,
      values: [names],
      // A connection that has fallen silent must not block the rescuer.
      query_timeout: 2_000,
    };
    const ask = (pool: ConnectionPool) => this.#outside<{ name: string; ended: boolean }>(pool, query);
    const [kernels, tenants] = await Promise.allSettled([ask(this.kernelPool), ask(this.pool)]);
    if (kernels.status === 'rejected') throw kernels.reason;
    // Connections of tenants may have rested through a cut, each costs a try to find that out, and a rescue must not
    // wait for all of them: the next one asks again.
    const found = [kernels, tenants].flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
    return [...new Set(found.filter(({ ended }) => ended).map(({ name }) => name))];
  }

  async close(): Promise<void> {
    await Promise.all([this.pool.close(), this.kernelPool.close()]);
  }

  #openPool(options: DatabaseOptions, url: string, maxConnections: number): ConnectionPool {
    const { applicationName, connectTimeoutMs = 10_000 } = options;
    const shared = { applicationName, connectTimeoutMs, types: columnTypes, onError: this.#onError };
    return new ConnectionPool({ ...shared, url, maxConnections });
  }

  async #outside<Row extends object>(pool: ConnectionPool, query: pg.QueryConfig): Promise<Row[]> {
    try {
      return await pool.query<Row>(query);
    } catch (error) {
      this.#noteFailure(error);
      throw error;
    }
  }

  #noteFailure(failure: unknown): void {
    this.#signer.noteFailure(failure);
    if (!isReadOnlyServer(failure)) return;
    // Both logins lead to the same server: without this, every resting connection would cost a request to find out.
    this.pool.renew();
    this.kernelPool.renew();
  }

  async #readSigningKey(): Promise<Buffer> {
    const [row] = await this.statement<{ key: Buffer }>(
      // All tenants wait for it: a connection that has fallen silent must not keep them.
      { role: 'sluice_kernel', limitMs: 5_000 },
      sql`select key from tenant_signing`,
    );
    if (!row)
      throw new Error('The database has no key to sign tenants with; its table tenant_signing is empty');
    return row.key;
  }

  async #contextStatement({ role, tenantId = '', groups, settings }: TransactionContext): Promise<Sql> {
    const signature = tenantId === '' ? '' : await this.#signer.sign(tenantId);
    return settingStatement({
      role,
      'app.tenant_id': tenantId,
      'app.tenant_signature': signature,
      'app.groups': groups === undefined ? '' : JSON.stringify(groups),
      ...this.#settings,
      ...settings,
    });
  }

  async #connect({ role, tenantId = '', turn = tenantId }: TransactionContext) {
    const pool = role === 'sluice_kernel' ? this.kernelPool : this.pool;
    const startedAt = performance.now();
    try {
      return { pool, ...(await pool.connect(turn)) };
    } catch (error) {
      // Failed waits are the longest, so they count too.
      this.#onTransaction?.({ waitMs: performance.now() - startedAt, totalMs: 0 });
      throw error;
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

/** Nothing else of an object that has these fields belongs to the transaction. */
function viewOf(tenant: string | TenantView): TenantView {
  return typeof tenant === 'string'
    ? { tenantId: tenant }
    : { tenantId: tenant.tenantId, groups: tenant.groups };
}

const begin = trustedSql('begin');
const beginReadOnly = trustedSql('begin read only');

/** A connection that shows this is dropped, even if it still responds: it leads to a server that is of no use. */
function isAway(failure: unknown): boolean {
  return isSluiceError(failure) && failure.code === 'database_unavailable';
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
