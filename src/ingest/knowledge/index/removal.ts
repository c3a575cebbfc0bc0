import type { Tx } from '../../../lib/postgres/db.ts';
import type { GenerationKey, KbKey } from '../types.ts';
import {
  deleteChunksOf,
  deleteLinks,
  deleteLinksOf,
  deleteUnlinked,
  type RevisionKey,
} from './chunk-store.ts';
import { bumpIndex, deleteGeneration, listGenerations, lockGeneration } from './generation-store.ts';
import { deleteDocument, deleteDocumentsOf } from './visit-store.ts';
import { deleteWordsOf } from './word-store.ts';

/** How many rows one transaction deletes. */
export const batchSize = 1_000;
/** Their rows are small. */
const wordsPerBatch = 20_000;

/** Deletes all links of these revisions, and chunks without links. The generation must be locked. */
export async function dropRevisions(
  tx: Tx,
  key: GenerationKey,
  revisions: readonly RevisionKey[],
): Promise<void> {
  while ((await dropSomeLinks(tx, key, revisions)) === batchSize);
}

/** Deletes one batch; returns the number of deleted links. */
export async function dropSomeLinks(
  tx: Tx,
  key: GenerationKey,
  revisions: readonly RevisionKey[],
): Promise<number> {
  const chunkIds = await deleteLinks(tx, key, { revisions, limit: batchSize });
  const orphans = chunkIds.length > 0 ? await deleteUnlinked(tx, key, chunkIds) : 0;
  if (orphans > 0) await bumpIndex(tx, key);
  return chunkIds.length;
}

/** Deletes a batch of a generation that is no longer needed; returns whether everything is deleted. */
export async function dropSomeOf(tx: Tx, generation: GenerationKey): Promise<boolean> {
  if ((await lockGeneration(tx, generation)) === null) return true;
  if ((await deleteLinksOf(tx, generation, batchSize)) > 0) return false;
  if ((await deleteChunksOf(tx, generation, batchSize)) > 0) {
    await bumpIndex(tx, generation);
    return false;
  }
  if ((await deleteDocumentsOf(tx, generation, batchSize)) > 0) return false;
  if ((await deleteWordsOf(tx, generation, wordsPerBatch)) > 0) return false;
  await deleteGeneration(tx, generation);
  return true;
}

/**
 * Deletes a batch of the index of a knowledge base that is being deleted. The caller has locked it and checked that no
 * run is active. Returns whether everything is deleted, so that the row of the knowledge base can follow.
 */
export async function removeKbContents(tx: Tx, key: KbKey): Promise<boolean> {
  for (const generation of await listGenerations(tx, key)) {
    if (!(await dropSomeOf(tx, generation))) return false;
  }
  return true;
}

/** Removes one document from the index at once, for example because its file was deleted. */
export async function removeDocument(
  tx: Tx,
  { documentId, ...key }: GenerationKey & { documentId: string },
): Promise<boolean> {
  const generation = await lockGeneration(tx, key);
  const revision = generation && (await deleteDocument(tx, { ...key, documentId }));
  if (revision === null) return false;
  await dropRevisions(tx, key, [{ documentId, revision }]);
  return true;
}
