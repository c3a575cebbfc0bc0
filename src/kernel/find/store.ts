import type { Tx } from '../../lib/postgres/db.ts';
import { type Sql, sql } from '../../lib/postgres/sql.ts';
import type { NamedRow } from './types.ts';

/** Of these rows those that have each of the patterns in their name, their id or what else they are found by. */
export function matchRows(
  tx: Tx,
  rows: Sql,
  { patterns, limit }: { patterns: readonly string[]; limit: number },
): Promise<NamedRow[]> {
  return tx.rows<NamedRow>(sql`
    select r.id, r.name, r.within
      from (${rows}) r
     where concat_ws(' ', r.name, r.id, r.more) ilike all(${patterns})
     limit ${limit}`);
}

export function readRows(tx: Tx, rows: Sql): Promise<NamedRow[]> {
  return tx.rows<NamedRow>(sql`
    select r.id, r.name, r.within
      from (${rows}) r`);
}
