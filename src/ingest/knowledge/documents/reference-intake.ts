import { newId } from '../../../lib/ids.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { findIntake, findKb, insertSource, lockKb } from '../store.ts';
import type { KbKey } from '../types.ts';

/** Returns when the knowledge base was created, and makes sure that it has its one source for references. */
export async function admitReferences(tx: Tx, key: KbKey): Promise<Date | null> {
  const intake = await findIntake(tx, key);
  if (intake === null) return null;
  if (intake.hasReferences) return intake.createdAt;
  // Two such sources would index each reference twice.
  if ((await lockKb(tx, key)) === null) return null;
  if (!(await findIntake(tx, key))?.hasReferences) {
    await insertSource(tx, { ...key, sourceId: newId(), type: 'reference', settings: {} });
  }
  return intake.createdAt;
}

/** Null if it does not exist. */
export async function kbMadeAt(tx: Tx, key: KbKey): Promise<Date | null> {
  return (await findKb(tx, key))?.createdAt ?? null;
}
