import type { Database, TransactionContext, Tx } from '../../../src/lib/postgres/db.ts';
import type { Sql } from '../../../src/lib/postgres/sql.ts';

/** What statements read: rows that came out of tables and indexes, and those that were thrown away at once. */
export interface Reading {
  rows: number;
  scans: string[];
  /** A plan does not show what a function of ours reads: PostgreSQL's own counts of the transaction do. */
  callsFunction: boolean;
}

/** Functions of PostgreSQL that return rows; all others are ours. */
const builtIn = /^(unnest|jsonb?_|string_to_|generate_)/;

class RolledBack extends Error {}

/** Runs a store's own functions with a transaction that explains each statement; what it changes is rolled back. */
export async function readingOf(
  db: Database,
  { context, work }: { context: TransactionContext; work: (tx: Tx) => Promise<unknown> },
): Promise<Reading> {
  const reading: Reading = { rows: 0, scans: [], callsFunction: false };
  // Compiling a plan is left out, as in the product.
  const running = db.transaction(
    { ...context, settings: { ...context.settings, jit: 'off' } },
    async (tx) => {
      const before = await countsOf(tx);
      await work(explaining(tx, (plan) => addScans(plan, reading)));
      if (reading.callsFunction) addInner(reading, { before, after: await countsOf(tx) });
      throw new RolledBack();
    },
  );
  await running.catch((error: unknown) => {
    if (!(error instanceof RolledBack)) throw error;
  });
  return reading;
}

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Function Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: PlanNode[];
}

/** Every statement runs and returns nothing. */
function explaining(tx: Tx, take: (plan: PlanNode) => void): Tx {
  const explain = async ({ text, values }: Sql): Promise<void> => {
    type Answer = { 'QUERY PLAN': { Plan: PlanNode }[] };
    const { rows } = await tx.client.query<Answer>(`explain (analyze, format json) ${text}`, values);
    const plan = rows[0]?.['QUERY PLAN'][0]?.Plan;
    if (!plan) throw new Error(`PostgreSQL explained nothing: ${text}`);
    take(plan);
  };
  return {
    ...tx,
    rows: async (statement) => {
      await explain(statement);
      return [];
    },
    find: async (statement) => {
      await explain(statement);
      return null;
    },
    run: async (statement) => {
      await explain(statement);
      return 0;
    },
  };
}

function addScans(node: PlanNode, reading: Reading): void {
  const source = node['Index Name'] ?? node['Relation Name'];
  // The heap scan above a bitmap counts its rows.
  if (/Scan/.test(node['Node Type']) && node['Node Type'] !== 'Bitmap Index Scan' && source !== undefined) {
    const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
    reading.rows += Math.round((node['Actual Rows'] + removed) * node['Actual Loops']);
    reading.scans.push(`${node['Node Type']} on ${source}`);
  }
  const called = node['Function Name'];
  if (called !== undefined && !builtIn.test(called)) reading.callsFunction = true;
  for (const inner of node.Plans ?? []) addScans(inner, reading);
}

interface TableCounts {
  name: string;
  sequential: number;
  rows: number;
}

/** Of this session: earlier transactions may be in it. The signing key of tenants is one row in its own table. */
async function countsOf(tx: Tx): Promise<TableCounts[]> {
  const { rows } = await tx.client.query<TableCounts>(
    `select relname as name, seq_scan::int as sequential,
            (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as rows
       from pg_stat_xact_user_tables
      where relname <> 'tenant_signing'`,
  );
  return rows;
}

function addInner(
  reading: Reading,
  { before, after }: { before: readonly TableCounts[]; after: readonly TableCounts[] },
): void {
  const counts = new Map(before.map((row) => [row.name, row]));
  for (const { name, sequential, rows } of after) {
    const had = counts.get(name) ?? { sequential: 0, rows: 0 };
    if (rows === had.rows && sequential === had.sequential) continue;
    reading.rows += rows - had.rows;
    reading.scans.push(`${sequential > had.sequential ? 'Seq Scan' : 'Index Scan'} on ${name}`);
  }
}
