import type { PageRange } from './chunker.ts';
import type { Span } from './ruler.ts';

/** The pages that a part of a text is on; null if the document has none. `starts` is where each page starts. */
export function pagesOf({ start, end }: Span, starts: readonly number[]): PageRange | null {
  if (starts.length === 0) return null;
  const last = Math.max(start, end - 1);
  return { from: Math.max(1, countUpTo(starts, start)), to: Math.max(1, countUpTo(starts, last)) };
}

/** How many of the positions, which ascend, are not after this one. Of empty pages at one place the last counts. */
function countUpTo(starts: readonly number[], position: number): number {
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) <= position) low = middle + 1;
    else high = middle;
  }
  return low;
}
