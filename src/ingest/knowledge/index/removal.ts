import type { Tx } from '../../../lib/postgres/db.ts';
import type { Generation, GenerationKey, KbKey } from '../types.ts';
import {
  deleteChunksOf,
  deleteLinks,
  deleteLinksOf,
  deleteUnlinked,
  type RevisionKey,
} from './chunk-store.ts';
import { bumpIndex, deleteGeneration, listGenerations, lockGeneration } from './generation-store.ts';
import type { VectorEngine, VectorSpace } from './vector/engine.ts';
import { deleteDocument, deleteDocumentsOf } from './visit-store.ts';

/** How many rows one transaction deletes. */
export const batchSize = 1_000;

export interface IndexPlace {
  deps: { engine: VectorEngine };
  key: GenerationKey;
  embedder: { dimensions: number };
}

export function spaceOf({ key, embedder }: Pick<IndexPlace, 'key' | 'embedder'>): VectorSpace {
  return { ...key, dimensions: embedder.dimensions };
}

/** Deletes all links of these revisions, and chunks without links. The generation must be locked. */
export async function dropRevisions(
  place: IndexPlace,
  tx: Tx,
  revisions: readonly RevisionKey[],
): Promise<void> {
  while ((await dropSomeLinks(place, tx, revisions)) === batchSize);
}

/** Deletes one batch; returns the number of deleted links. */
export async function dropSomeLinks(
  place: IndexPlace,
  tx: Tx,
  revisions: readonly RevisionKey[],
): Promise<number> {
  const { deps, key } = place;
  const chunkIds = await deleteLinks(tx, key, { revisions, limit: batchSize });
  const orphans = chunkIds.length > 0 ? await deleteUnlinked(tx, key, chunkIds) : [];
  if (orphans.length > 0) {
    await deps.engine.remove(tx, spaceOf(place), orphans);
    await bumpIndex(tx, key);
  }
  return chunkIds.length;
}

/** Deletes a batch of a generation that is no longer needed; returns whether everything is deleted. */
export async function dropSomeOf(engine: VectorEngine, tx: Tx, generation: Generation): Promise<boolean> {
  if ((await lockGeneration(tx, generation)) === null) return true;
  if ((await deleteLinksOf(tx, generation, batchSize)) > 0) return false;
  const chunkIds = await deleteChunksOf(tx, generation, batchSize);
  if (chunkIds.length > 0) {
    await engine.remove(tx, { ...generation }, chunkIds);
    await bumpIndex(tx, generation);
    return false;
  }
  if ((await deleteDocumentsOf(tx, generation, batchSize)) > 0) return false;
  await deleteGeneration(tx, generation);
  return true;
}

/**
 * Deletes a batch of the index of a knowledge base that is being deleted. The caller has locked it and checked that no
 * run is active. Returns whether everything is deleted, so that the row of the knowledge base can follow.
 */
export async function removeKbContents(
  { engine }: { engine: VectorEngine },
  tx: Tx,
  key: KbKey,
): Promise<boolean> {
  for (const generation of await listGenerations(tx, key)) {
    if (!(await dropSomeOf(engine, tx, generation))) return false;
  }
  return true;
}

/** Removes one document from the index at once, for example because its file was deleted. */
export async function removeDocument(
  { engine }: { engine: VectorEngine },
  tx: Tx,
  { documentId, ...key }: GenerationKey & { documentId: string },
): Promise<boolean> {
  const generation = await lockGeneration(tx, key);
  const revision = generation && (await deleteDocument(tx, { ...key, documentId }));
  if (generation === null || revision === null) return false;
  const place = { deps: { engine }, key, embedder: { dimensions: generation.dimensions } };
  await dropRevisions(place, tx, [{ documentId, revision }]);
  return true;
}
