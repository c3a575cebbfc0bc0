import type { Database, TransactionContext } from '../../../src/lib/postgres/db.ts';
import type { Sql } from '../../../src/lib/postgres/sql.ts';

/** The same database, whose single statements return once `watch` has seen their text and their rows. */
export function watchedDatabase(
  db: Database,
  watch: (text: string, rows: readonly object[]) => Promise<void> | void,
): Database {
  const statement = async <Row extends object>(context: TransactionContext, sql: Sql): Promise<Row[]> => {
    const rows = await db.statement<Row>(context, sql);
    await watch(sql.text, rows);
    return rows;
  };
  return new Proxy(db, {
    get(target, name) {
      if (name === 'statement') return statement;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
