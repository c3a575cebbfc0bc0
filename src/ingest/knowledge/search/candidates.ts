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
  /** The chunks that the filter and the access of whoever asks leave; null: all of them. */
  eligible: ReadonlySet<number> | null;
  signal: AbortSignal;
}

/** How many candidates of each kind are compared. */
const candidatesPerKind = 200;

/** Best first. */
export async function listCandidates(engine: VectorEngine, tx: Tx, asked: Asked): Promise<Ranked[]> {
  const { space, mode, vector, eligible, signal } = asked;
  const near =
    vector === null
      ? []
      : await engine.search(tx, space, { vector, limit: candidatesPerKind, eligible, signal });
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

/** Up to this many passages are compared one by one; among more of them the best are looked for. */
const fewPassages = 5_000;
const mostMatches = 1_000_000;
/** As many as a search returns at most: asking for more means reading all passages with a frequent word. */
const enoughMatches = 50;

/** With the chunks `also`, whatever their words. */
async function listMatches(tx: Tx, asked: Asked, also: readonly number[]): Promise<TextMatch[]> {
  const { eligible, isCounted } = asked;
  if (eligible === null) return matchesOf(tx, asked, { limit: candidatesPerKind, also });
  if (eligible.size === 0) return [];
  if (isCounted && eligible.size <= fewPassages) {
    const all = await matchesOf(tx, asked, { limit: 1, also: [...eligible] });
    return bestOf(all, eligible, also);
  }
  for (let limit = 4 * candidatesPerKind; ; limit *= 8) {
    const all = await matchesOf(tx, asked, { limit, also });
    const best = bestOf(all, eligible, also);
    const isEnough = best.length >= enoughMatches + also.length;
    if (isEnough || all.length < limit || limit > mostMatches) return best;
  }
}

function matchesOf(
  tx: Tx,
  { space, query, isCounted }: Asked,
  { limit, also }: { limit: number; also: readonly number[] },
): Promise<TextMatch[]> {
  return isCounted
    ? listTextMatches(tx, space, { question: parseQuestion(query), limit, also })
    : listUncountedMatches(tx, space, { query, limit });
}

function bestOf(
  matches: readonly TextMatch[],
  eligible: ReadonlySet<number>,
  also: readonly number[],
): TextMatch[] {
  const needed = new Set(also);
  let room = candidatesPerKind;
  return matches
    .filter(({ chunkId }) => eligible.has(chunkId))
    .toSorted((one, other) => (other.score ?? 0) - (one.score ?? 0) || one.chunkId - other.chunkId)
    .filter(({ chunkId, score }) => {
      if (needed.has(chunkId)) return true;
      if (score === null || score <= 0 || room === 0) return false;
      room -= 1;
      return true;
    });
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
