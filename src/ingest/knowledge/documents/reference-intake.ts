import { newId } from '../../../lib/ids.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { findKb, insertSource, listSources, lockKb } from '../store.ts';
import type { KbKey } from '../types.ts';

const maxSources = 1_000;

/** Returns whether the knowledge base exists; if so, makes sure that it has its one source for references. */
export async function admitReferences(tx: Tx, key: KbKey): Promise<boolean> {
  if ((await findKb(tx, key)) === null) return false;
  if (await hasReferenceSource(tx, key)) return true;
  // Two such sources would index each reference twice.
  if ((await lockKb(tx, key)) === null) return false;
  if (!(await hasReferenceSource(tx, key))) {
    await insertSource(tx, { ...key, sourceId: newId(), type: 'reference', settings: {} });
  }
  return true;
}

/** Null if it does not exist. */
export async function kbMadeAt(tx: Tx, key: KbKey): Promise<Date | null> {
  return (await findKb(tx, key))?.createdAt ?? null;
}

async function hasReferenceSource(tx: Tx, key: KbKey): Promise<boolean> {
  const sources = await listSources(tx, { ...key, limit: maxSources });
  return sources.some(({ type }) => type === 'reference');
}
