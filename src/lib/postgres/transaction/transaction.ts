import type pg from 'pg';
import type { DatabaseRole, Tx } from '../db.ts';
import { databaseErrors, saysNothingWasKept } from '../db-errors.ts';
import type { ConnectionWait } from '../pool/connection-pool.ts';
import { type Sql, trustedSql } from '../sql.ts';
import { queryAll } from './query-batch.ts';

export interface OpenTransaction {
  role: DatabaseRole;
  afterCommit: (() => void)[];
  wait: ConnectionWait;
  /** Whether its last statement has brought the commit along. */
  hasCommitted: boolean;
}

const commitStatement = trustedSql('commit');

/** Values are parameters: the text of a statement is there to be read by every session of the same login. */
export function settingStatement(settings: Record<string, string>): Sql {
  const names = Object.keys(settings);
  const calls = names.map((name, index) => `set_config('${name}', $${index + 1}, true)`);
  return { text: `select ${calls.join(', ')}`, values: Object.values(settings) };
}

export function transactionOn(client: pg.ClientBase, open: OpenTransaction, role = open.role): Tx {
  const run = ({ text, values }: Sql) => client.query(text, values);
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
      return (await run(statement)).rowCount ?? 0;
    },
    async commitWith<Row extends object>(statement: Sql): Promise<Row[]> {
      const rows = await commitBehind<Row>(client, statement);
      open.hasCommitted = true;
      return rows;
    },
    afterCommit(action: () => void): void {
      open.afterCommit.push(action);
    },
    async as<T>(other: DatabaseRole, work: (tx: Tx) => Promise<T>, settings = {}): Promise<T> {
      await run(settingStatement({ role: other, ...settings }));
      const result = await work(transactionOn(client, open, other));
      // After an error the transaction is over anyway, and with it the role.
      if (!open.hasCommitted) await run(settingStatement({ role }));
      return result;
    },
  };
}

/** A failed COMMIT is special: the server may have committed although the response was lost. The caller must check. */
export async function commit(client: pg.ClientBase): Promise<void> {
  let tag: string;
  try {
    tag = (await client.query('commit')).command;
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    if (typeof code === 'string' && /^(23|40)/.test(code)) throw error;
    throw commitUnknown(error);
  }
  assertCommitted(tag);
}

/** When the statement fails, PostgreSQL skips the commit behind it. */
async function commitBehind<Row extends object>(client: pg.ClientBase, statement: Sql): Promise<Row[]> {
  try {
    const [result, committed] = await queryAll(client, [statement, commitStatement]);
    assertCommitted(committed?.command);
    return (result?.rows ?? []) as Row[];
  } catch (error) {
    if (saysNothingWasKept(error)) throw error;
    throw commitUnknown(error);
  }
}

/** When a statement failed and its error was swallowed, PostgreSQL responds to COMMIT with ROLLBACK. */
function assertCommitted(tag: string | undefined): void {
  if (tag !== 'COMMIT') {
    throw databaseErrors.raise.transaction_aborted(
      'The transaction had failed before its commit, so nothing of it was kept',
    );
  }
}

function commitUnknown(cause: unknown): Error {
  return databaseErrors.raise.commit_unknown(
    'The connection was lost while a transaction was being committed; it may or may not have taken effect',
    { cause },
  );
}

/** False when not even a rollback gets through: the connection is gone, so is the transaction. */
export async function rollBack(client: pg.ClientBase): Promise<boolean> {
  try {
    await client.query('rollback');
    return true;
  } catch {
    return false;
  }
}
