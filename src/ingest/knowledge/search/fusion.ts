/** What is known of a passage before both ways of searching are combined. */
export interface Candidate {
  chunkId: number;
  /** Cosine of its vector and that of the question; null: not compared. */
  similarity: number | null;
  /** BM25 of its words. */
  words: number;
  /** BM25 of a passage of average length that contains each word of the question once. */
  whole: number;
}

export interface Ranked extends Candidate {
  score: number;
}

/**
 * Words count by their share of what a passage with all of them would get. A part of the question is in many passages
 * by chance, so that a small share counts nothing: otherwise questions in other words than the text are not found. A
 * large share counts more: a search for `KX-4410` wants just that. Chosen on a published collection and on pairs of
 * our own (docs/decisions/0012-local-embedder.md).
 */
const small = { share: 0.19, weight: 0.5 };
const large = { share: 0.5, weight: 0.1 };

export function fuse(candidates: readonly Candidate[]): Ranked[] {
  return rank(candidates, (candidate) => (candidate.similarity ?? 0) + wordScore(candidate));
}

/** What the words add to the similarity. */
export function wordScore({ words, whole }: Candidate): number {
  if (whole <= 0) return 0;
  const above = ({ share, weight }: typeof small) => weight * Math.max(0, words / whole - share);
  return above(small) + above(large);
}

/** Best first. Equal scores keep the order of the index, so that a repeated search gives the same results. */
export function rank(candidates: readonly Candidate[], scoreOf: (candidate: Candidate) => number): Ranked[] {
  return candidates
    .map((candidate) => ({ ...candidate, score: scoreOf(candidate) }))
    .sort((a, b) => b.score - a.score || a.chunkId - b.chunkId);
}
