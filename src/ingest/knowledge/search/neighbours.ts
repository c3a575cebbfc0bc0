import type { FoundChunk } from './store.ts';

export interface ScoredChunk extends FoundChunk {
  score: number;
}

/** Chunks of one document that follow each other, as one passage; `best` is the one with the highest score. */
export interface Passage {
  best: ScoredChunk;
  /** In the order of the document. */
  chunks: ScoredChunk[];
  text: string;
}

/** So many chunks make a passage that a person still reads, and a language model still has room for. */
const mostChunks = 4;
/** A neighbour that is found by chance does not belong to the passage. */
const leastShare = 0.6;

/** Best first. Of chunks that follow each other in a document the later ones join the best of them. */
export function joinNeighbours(chunks: readonly ScoredChunk[], { merges }: { merges: boolean }): Passage[] {
  const groups: ScoredChunk[][] = [];
  const byPlace = new Map<string, ScoredChunk[]>();
  for (const chunk of chunks) {
    const group = merges ? groupBeside(chunk, byPlace) : null;
    if (group === null) groups.push([chunk]);
    else group.push(chunk);
    byPlace.set(placeOf(chunk, 0), group ?? (groups.at(-1) as ScoredChunk[]));
  }
  return groups.map((group) => {
    const [best] = group as [ScoredChunk];
    const inOrder = group.toSorted((one, other) => one.ordinal - other.ordinal);
    return { best, chunks: inOrder, text: textOf(inOrder) };
  });
}

function groupBeside(chunk: ScoredChunk, byPlace: ReadonlyMap<string, ScoredChunk[]>): ScoredChunk[] | null {
  for (const step of [-1, 1]) {
    const group = byPlace.get(placeOf(chunk, step));
    const best = group?.[0]?.score ?? 0;
    if (group !== undefined && group.length < mostChunks && best > 0 && chunk.score >= best * leastShare) {
      return group;
    }
  }
  return null;
}

function placeOf({ documentId, ordinal }: FoundChunk, step: number): string {
  return `${documentId} ${ordinal + step}`;
}

function textOf(chunks: readonly FoundChunk[]): string {
  let text = '';
  let previous: FoundChunk | null = null;
  for (const chunk of chunks) {
    text += previous === null ? chunk.text : continued(previous, chunk);
    previous = chunk;
  }
  return text;
}

/** What the next chunk adds: windows may overlap, and a paragraph may be cut between two sentences. */
function continued(before: FoundChunk, next: FoundChunk): string {
  const gap = next.startAt - before.endAt;
  if (gap < 0) {
    const common = overlapOf(before.text, next.text);
    if (common > 0) return next.text.slice(common);
  }
  if (gap === 1) return /^(?:[-*+|#>]|\d+[.)])/.test(next.text) ? `\n${next.text}` : ` ${next.text}`;
  return gap === 0 ? next.text : `\n\n${next.text}`;
}

/** How long the longest end of one text is with which the other begins. */
function overlapOf(one: string, other: string): number {
  for (let length = Math.min(one.length, other.length); length > 0; length -= 1) {
    if (one.endsWith(other.slice(0, length))) return length;
  }
  return 0;
}
