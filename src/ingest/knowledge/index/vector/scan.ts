import { createTurns as createLoopTurns } from '../../../../lib/timing/event-loop-turns.ts';
import type { Segment } from './segments.ts';
import type { TopHits } from './top-hits.ts';

/** Call it between segments: it lets other work run if the scan has blocked the event loop long enough. */
export function createTurns(signal: AbortSignal, now?: () => number): () => Promise<void> {
  const takeTurn = createLoopTurns(now);
  return async () => {
    signal.throwIfAborted();
    await takeTurn();
    signal.throwIfAborted();
  };
}

export function scanSegment(
  { ids, vectors }: Segment,
  query: Float32Array,
  best: TopHits,
  eligible: ReadonlySet<number> | null = null,
): void {
  const dimensions = query.length;
  for (let row = 0; row < ids.length; row += 1) {
    if (eligible !== null && !eligible.has(ids[row] as number)) continue;
    const score = dotProduct(vectors, row * dimensions, query);
    if (score >= best.threshold) best.offer(ids[row] as number, score);
  }
}

/** Four sums at a time: with one sum each addition would wait for the one before it. */
export function dotProduct(vectors: Float32Array, from: number, query: Float32Array): number {
  const dimensions = query.length;
  const whole = dimensions - (dimensions % 4);
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  for (let i = 0, at = from; i < whole; i += 4, at += 4) {
    a += (vectors[at] as number) * (query[i] as number);
    b += (vectors[at + 1] as number) * (query[i + 1] as number);
    c += (vectors[at + 2] as number) * (query[i + 2] as number);
    d += (vectors[at + 3] as number) * (query[i + 3] as number);
  }
  for (let i = whole; i < dimensions; i += 1) a += (vectors[from + i] as number) * (query[i] as number);
  return a + b + (c + d);
}
