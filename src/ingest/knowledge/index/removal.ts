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

/** Deletes all links of these revisions, and the chunks that nobody has any more. The generation is locked. */
export async function dropRevisions(
  place: IndexPlace,
  tx: Tx,
  revisions: readonly RevisionKey[],
): Promise<void> {
  while ((await dropSomeLinks(place, tx, revisions)) === batchSize);
}

/** Up to a batch of them; answers how many links went. */
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

/** A batch of a generation that nobody needs any more; answers whether it is all gone. */
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
 * For whoever deletes a knowledge base: a batch of what is indexed of it, in the caller's transaction, which has locked
 * it and has seen that no run is active. Answers whether everything is gone, so that its own row can follow.
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

/** Takes one document out of the index at once, for instance because its file was deleted. */
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
