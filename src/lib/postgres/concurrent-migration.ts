import type pg from 'pg';
import { quoteLiteral } from './sql.ts';

/**
 * Runs the statements of a migration one by one, outside of a transaction: an index on a table in use is built
 * `concurrently`, which PostgreSQL does in no other way. Each statement must be safe to repeat.
 */
export async function runConcurrently(
  client: pg.Client,
  { text, lockKey }: { text: string; lockKey: number },
): Promise<void> {
  await takeLock(client, lockKey);
  try {
    await client.query('set statement_timeout = 0');
    for (const statement of statementsOf(text)) {
      await dropBrokenIndex(client, statement);
      await client.query(statement);
    }
  } finally {
    await client.query('select pg_advisory_unlock($1)', [lockKey]);
  }
}

/** By trying: who waits inside a statement has a snapshot, and the build of an index waits for all older snapshots. */
async function takeLock(client: pg.Client, lockKey: number): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ isTaken: boolean }>(
      'select pg_try_advisory_lock($1) as "isTaken"',
      [lockKey],
    );
    if (rows[0]?.isTaken) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export function statementsOf(text: string): string[] {
  const withoutComments = text.replaceAll(/^\s*--.*$/gm, '');
  return withoutComments
    .split(/;\s*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

/** A build that was interrupted leaves an index that is never used; `if not exists` would keep it for ever. */
async function dropBrokenIndex(client: pg.Client, statement: string): Promise<void> {
  const [, name] = /^create (?:unique )?index concurrently if not exists (\w+)/.exec(statement) ?? [];
  if (name === undefined) return;
  const { rows } = await client.query<{ isValid: boolean }>(
    `select indisvalid as "isValid" from pg_index where indexrelid = to_regclass(${quoteLiteral(name)})`,
  );
  if (rows[0]?.isValid === false) await client.query(`drop index concurrently ${name}`);
}
