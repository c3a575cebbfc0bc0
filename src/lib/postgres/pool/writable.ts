import type pg from 'pg';
import { readOnlyServer } from '../db-errors.ts';

/**
 * A replica makes every transaction read-only, and so does an old primary that was set to read-only by default: one
 * setting shows either. Throws `database_unavailable` then, and when no response comes within that time.
 */
export async function assertWritable(client: pg.ClientBase, answerWithinMs?: number): Promise<void> {
  const text = `select current_setting('transaction_read_only') = 'on' as "isReadOnly"`;
  const question: pg.QueryConfig & { query_timeout?: number } = { text };
  if (answerWithinMs !== undefined) question.query_timeout = answerWithinMs;
  const { rows } = await client.query<{ isReadOnly: boolean }>(question);
  if (rows[0]?.isReadOnly) throw readOnlyServer();
}
