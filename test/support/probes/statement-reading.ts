import type { Database, TransactionContext, Tx } from '../../../src/lib/postgres/db.ts';
import type { Sql } from '../../../src/lib/postgres/sql.ts';

/** What statements read: rows that came out of tables and indexes, and those that were thrown away at once. */
export interface Reading {
  rows: number;
  scans: string[];
}

class RolledBack extends Error {}

/** Runs a store's own functions with a transaction that explains each statement; what it changes is rolled back. */
export async function readingOf(
  db: Database,
  { context, work }: { context: TransactionContext; work: (tx: Tx) => Promise<unknown> },
): Promise<Reading> {
  const reading: Reading = { rows: 0, scans: [] };
  // Compiling a plan is left out, as in the product.
  const running = db.transaction(
    { ...context, settings: { ...context.settings, jit: 'off' } },
    async (tx) => {
      await work(explaining(tx, (plan) => addScans(plan, reading)));
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
  for (const inner of node.Plans ?? []) addScans(inner, reading);
}
