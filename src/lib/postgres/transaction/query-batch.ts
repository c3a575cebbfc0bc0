import pg from 'pg';
import type { Sql } from '../sql.ts';

/** What of the driver's query and connection is used here; its types do not have it. */
interface DriverConnection {
  sync(): void;
}

interface DriverQuery {
  /** Whoever waits for the results. */
  callback: Finished;
  text: string;
  values: unknown[];
  prepare(connection: DriverConnection): void;
}

type Finished = (error: Error | null, results: pg.QueryResult | pg.QueryResult[]) => void;

const DriverQuery = pg.Query as unknown as new (config: object, finished: Finished) => DriverQuery;

/**
 * Several statements with their parameters in one round trip. Written into the text instead, parameters could be read
 * in pg_stat_activity by every session of the same login.
 */
export class QueryBatch extends DriverQuery {
  readonly statements: readonly Sql[];

  constructor(statements: readonly Sql[], finished: Finished) {
    super({ text: '', queryMode: 'extended' }, finished);
    this.statements = statements;
  }

  /** Sends every statement as the driver would send one, but only one request to answer, at the end. */
  override prepare(connection: DriverConnection): void {
    const silent = Object.create(connection, { sync: { value: () => {} } }) as DriverConnection;
    for (const { text, values } of this.statements) {
      this.text = text;
      this.values = values;
      super.prepare(silent);
    }
    connection.sync();
  }

  override toString(): string {
    return this.statements.map(({ text }) => text).join(';\n');
  }
}

/** The results of all statements. When one fails, those after it are not run. */
export function queryAll(client: pg.ClientBase, statements: readonly Sql[]): Promise<pg.QueryResult[]> {
  return new Promise((resolve, reject) => {
    const batch = new QueryBatch(statements, (error, results) => {
      if (error) reject(error);
      else resolve([results].flat());
    });
    client.query(batch as unknown as pg.Submittable);
  });
}

/** Returns the rows of the last statement. */
export async function queryBatch<Row extends object>(
  client: pg.ClientBase,
  statements: readonly Sql[],
): Promise<Row[]> {
  return ((await queryAll(client, statements)).at(-1)?.rows ?? []) as Row[];
}
