import pg from 'pg';
import type { Tx } from '../../lib/postgres/db.ts';
import { ownErrors } from './errors.ts';
import type { EffectsTx, Row } from './types.ts';

/** What would end the transaction leaves the rest unfenced; what changes the role would open Sluice's tables. */
const control = new RegExp(
  [
    '^(begin|start\\s+transaction|commit|end|abort|prepare\\s+transaction|discard|reset\\s+(role|all|session)',
    'rollback(?!\\s+(work\\s+|transaction\\s+)?to\\b)',
    'set\\s+(local\\s+|session\\s+)?(role|session|transaction))\\b',
  ].join('|'),
  'i',
);
const leading = /^(\s+|--[^\n]*\n|\/\*[\s\S]*?\*\/)+/;

/** Lets the work of a pipeline into its transaction, under the role that has no right on any table of Sluice. */
export async function withEffects<T>(tx: Tx, work: (effects: EffectsTx) => Promise<T>): Promise<T> {
  return tx.as('sluice_effects', async (inner) => {
    let isOpen = true;
    const query = async <R extends Row = Row>(text: string, params: readonly unknown[] = []) => {
      if (!isOpen) throw new Error('This transaction has ended; await every query before the work returns');
      return runStatement<R>(inner, { text, params });
    };
    try {
      return await work({ query });
    } finally {
      isOpen = false;
    }
  });
}

async function runStatement<R extends Row>(
  tx: Tx,
  { text, params }: { text: string; params: readonly unknown[] },
): Promise<{ rows: R[]; rowCount: number }> {
  const found = control.exec(text.replace(leading, ''));
  if (found) throw ownErrors.raise.transaction_control(`Effects may not run ${JSON.stringify(found[0])}`);
  try {
    // The extended protocol takes one statement at a time; and the application gets the types that it gets elsewhere.
    const statement = { text, values: [...params], queryMode: 'extended', types: pg.types };
    const { rows, rowCount } = await tx.client.query<R>(statement);
    return { rows, rowCount: rowCount ?? 0 };
  } catch (error) {
    if ((error as { code?: unknown }).code !== '42501') throw error;
    const { message } = error as Error;
    throw ownErrors.raise.tables_closed(`PostgreSQL refused the effects: ${message}`, { cause: error });
  }
}
