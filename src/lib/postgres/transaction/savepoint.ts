import type { Tx } from '../db.ts';
import { sql } from '../sql.ts';

/** Runs `work` so that its failure takes back only what it did, and not the whole transaction. */
export async function inSavepoint<T>(tx: Tx, work: () => Promise<T>): Promise<T> {
  await tx.run(sql`savepoint part`);
  try {
    const result = await work();
    await tx.run(sql`release savepoint part`);
    return result;
  } catch (error) {
    await tx.run(sql`rollback to savepoint part`);
    await tx.run(sql`release savepoint part`);
    throw error;
  }
}
