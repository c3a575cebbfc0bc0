import pg from 'pg';
import { appLogin } from '../../../src/lib/postgres/roles.ts';
import type { Sql } from '../../../src/lib/postgres/sql.ts';
import type { TestDatabase } from '../worlds/database.ts';

/** What one of many equal jobs costs the database. */
export interface JobCost {
  /** Without `begin`, `commit` and the settings of a transaction. */
  statements: number;
  transactions: number;
  /** Statements by the first of these names that they contain. */
  naming: Record<string, number>;
  walBytes: number;
}

const jobs = 20;

/** Runs the work often: what happens once in a while, and what a machine does beside it, weighs little. */
export async function costOf(
  database: TestDatabase,
  { names, work }: { names: readonly RegExp[]; work: (n: number) => Promise<void> },
): Promise<JobCost> {
  // Pages, plans and what a process remembers are there afterwards.
  for (let n = 0; n < jobs; n += 1) await work(n);
  const before = await walOf(database);
  const texts: string[] = [];
  const stop = listen((text) => void texts.push(text.trim()));
  try {
    for (let n = 0; n < jobs; n += 1) await work(jobs + n);
  } finally {
    stop();
  }
  const walBytes = ((await walOf(database)) - before) / jobs;
  const told = texts.filter((text) => !/^(begin|commit|select set_config)\b/.test(text));
  const naming = names.map((name) => [name.source, told.filter((text) => name.test(text)).length / jobs]);
  return {
    statements: told.length / jobs,
    transactions: texts.filter((text) => text.startsWith('select set_config')).length / jobs,
    naming: Object.fromEntries(naming),
    walBytes,
  };
}

async function walOf(database: TestDatabase): Promise<number> {
  const [row] = await database.owner<{ bytes: number }>(
    `select (pg_current_wal_insert_lsn() - '0/0')::float8 as bytes`,
  );
  return row?.bytes ?? 0;
}

/** Every statement that this process sends for tenants: heartbeats and looks of the kernel depend on the time. */
function listen(take: (text: string) => void): () => void {
  const { prototype } = pg.Client;
  const original = prototype.query as (...given: unknown[]) => unknown;
  prototype.query = function (this: pg.Client, ...given: unknown[]) {
    const { user } = this as pg.Client & { user?: string };
    if (user === appLogin) for (const text of textsOf(given[0])) take(text);
    return original.apply(this, given);
  } as typeof prototype.query;
  return () => {
    prototype.query = original as typeof prototype.query;
  };
}

function textsOf(given: unknown): string[] {
  if (typeof given === 'string') return [given];
  const { statements, text } = given as { statements?: readonly Sql[]; text?: string };
  return statements?.map((one) => one.text) ?? [text ?? ''];
}
