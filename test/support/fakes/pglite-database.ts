import { PGlite, type Transaction } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { afterAll, beforeAll } from 'vitest';
import { statementsOf } from '../../../src/lib/postgres/concurrent-migration.ts';
import type { DatabaseRole, TenantView, Tx } from '../../../src/lib/postgres/db.ts';
import { readMigrations } from '../../../src/lib/postgres/migrate.ts';
import { groupRoles } from '../../../src/lib/postgres/roles.ts';
import type { VectorDatabase } from '../probes/vector-spaces.ts';

export interface PgliteDatabase extends VectorDatabase {
  kernel<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** With the groups of a member. */
  member<T>(view: TenantView, work: (tx: Tx) => Promise<T>): Promise<T>;
}

/**
 * PostgreSQL with pgvector inside this process, with all of our migrations: the only one with the extension that is
 * there wherever the tests run. It has one connection, so that transactions come one after the other.
 */
export function usePglite(): PgliteDatabase {
  let pglite: PGlite | undefined;
  const opened = (): PGlite => {
    if (!pglite) throw new Error('PGlite is available only after beforeAll has run');
    return pglite;
  };
  beforeAll(async () => {
    pglite = await PGlite.create({ extensions: { vector } });
    for (const role of groupRoles) await pglite.exec(`create role ${role} nologin noinherit`);
    for (const { up, isConcurrent } of await readMigrations()) {
      // One statement at a time: several at once are one transaction.
      for (const part of isConcurrent ? statementsOf(up) : [up]) await pglite.exec(part);
    }
    // Compiled in this process: on a busy machine that alone takes half a minute.
  }, 240_000);
  afterAll(() => pglite?.close());
  const transaction = <T>(
    role: DatabaseRole,
    { tenantId, groups }: TenantView,
    work: (tx: Tx) => Promise<T>,
  ) =>
    opened().transaction(async (open) => {
      await open.query(`select set_config('role', $1, true), set_config('app.tenant_id', $2, true)`, [
        role,
        tenantId,
      ]);
      if (groups !== undefined) {
        await open.query(`select set_config('app.groups', $1, true)`, [JSON.stringify(groups)]);
      }
      return work(transactionOn(open));
    });
  return {
    tenant: (tenantId, work) => transaction('sluice_tenant', { tenantId }, work),
    member: (view, work) => transaction('sluice_tenant', view, work),
    kernel: (work) => transaction('sluice_kernel', { tenantId: '' }, work),
    owner: async <Row extends object>(text: string, values: unknown[] = []) =>
      (await opened().query<Row>(text, values)).rows,
  };
}

/** What stores use of a transaction; bytes come as the driver `pg` gives them. */
function transactionOn(open: Transaction): Tx {
  const query = async <Row extends object>(text: string, values: unknown[]) => {
    const { rows, affectedRows } = await open.query<Row>(text, values);
    return { rows: rows.map(withBuffers), count: affectedRows ?? rows.length };
  };
  return {
    rows: async <Row extends object>({ text, values }: { text: string; values: unknown[] }) =>
      (await query<Row>(text, values)).rows,
    find: async <Row extends object>({ text, values }: { text: string; values: unknown[] }) =>
      (await query<Row>(text, values)).rows[0] ?? null,
    run: async ({ text, values }) => (await query(text, values)).count,
    commitWith: () => missing('commitWith'),
    afterCommit: () => missing('afterCommit'),
    as: () => missing('as'),
    get client() {
      return missing('client');
    },
    wait: { totalMs: 0, queuedMs: 0 },
  };
}

function withBuffers<Row extends object>(row: Row): Row {
  const entries = Object.entries(row).map(([name, value]) => [
    name,
    value instanceof Uint8Array ? Buffer.from(value) : value,
  ]);
  return Object.fromEntries(entries) as Row;
}

function missing(what: string): never {
  throw new Error(`Transactions of PGlite have no ${what} in these tests`);
}
