import type { Tx } from '../../../lib/postgres/db.ts';
import type { VectorEngine, VectorSpace } from '../index/vector/engine.ts';
import { listVectors } from '../index/vector/exact-store.ts';
import { dotProduct } from '../index/vector/scan.ts';
import { readVector } from '../index/vector/vector-bytes.ts';
import { type Candidate, fuse, type Ranked, rank } from './fusion.ts';
import { parseQuestion } from './question.ts';
import { listTextMatches, listUncountedMatches, type TextMatch } from './store.ts';

export interface Asked {
  space: VectorSpace;
  isCounted: boolean;
  query: string;
  mode: 'vector' | 'text' | 'hybrid';
  /** Null: only the words of the query can be compared. */
  vector: Float32Array | null;
  signal: AbortSignal;
}

/** How many candidates of each kind are compared. */
const candidatesPerKind = 200;

/** Best first. */
export async function listCandidates(engine: VectorEngine, tx: Tx, asked: Asked): Promise<Ranked[]> {
  const { space, mode, vector, signal } = asked;
  const near =
    vector === null ? [] : await engine.search(tx, space, { vector, limit: candidatesPerKind, signal });
  const bySimilarity = new Map(near.map(({ chunkId, score }) => [chunkId, score]));
  if (mode === 'vector') {
    return rank(candidatesOf(bySimilarity, new Map(), 0), (each) => each.similarity ?? 0);
  }
  const matches = await listMatches(tx, asked, [...bySimilarity.keys()]);
  const byWords = new Map<number, number>();
  for (const { chunkId, score } of matches) {
    if (score !== null) byWords.set(chunkId, score);
    else bySimilarity.delete(chunkId);
  }
  const whole = matches[0]?.whole ?? 0;
  if (vector === null) return rank(candidatesOf(bySimilarity, byWords, whole), ({ words }) => words);
  const unknown = [...byWords.keys()].filter((chunkId) => !bySimilarity.has(chunkId));
  for (const { chunkId, bytes } of await listVectors(tx, space, unknown)) {
    bySimilarity.set(chunkId, dotProduct(readVector(bytes), 0, vector));
  }
  return fuse(candidatesOf(bySimilarity, byWords, whole));
}

function listMatches(tx: Tx, asked: Asked, also: readonly number[]): Promise<TextMatch[]> {
  const { space, query, isCounted } = asked;
  const limit = candidatesPerKind;
  return isCounted
    ? listTextMatches(tx, space, { question: parseQuestion(query), limit, also })
    : listUncountedMatches(tx, space, { query, limit });
}

function candidatesOf(
  bySimilarity: ReadonlyMap<number, number>,
  byWords: ReadonlyMap<number, number>,
  whole: number,
): Candidate[] {
  return [...new Set([...bySimilarity.keys(), ...byWords.keys()])].map((chunkId) => ({
    chunkId,
    similarity: bySimilarity.get(chunkId) ?? null,
    words: byWords.get(chunkId) ?? 0,
    whole,
  }));
}
