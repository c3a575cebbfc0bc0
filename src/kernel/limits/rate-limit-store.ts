import type { Tx } from '../../lib/postgres/db.ts';
import { type Sql, sql } from '../../lib/postgres/sql.ts';
import type { Reservation } from './types.ts';

/** One row `{waitMs}`; zero: every place was taken. */
export function reserveStatement(reservations: readonly Reservation[]): Sql {
  return sql`
    select reserve_rate_limits(
             ${reservations.map(({ key }) => key)}::text[],
             ${reservations.map(({ limit }) => limit)}::integer[],
             ${reservations.map(({ windowMs }) => windowMs)}::bigint[]) as "waitMs"`;
}

/** Rows that are being reserved right now are left alone. */
export function deleteExpired(tx: Tx, limit: number): Promise<number> {
  return tx.run(sql`
    delete from rate_limits
     where key in (
       select key
         from rate_limits
        where expires_at < clock_timestamp()
        limit ${limit}
          for update skip locked)`);
}
