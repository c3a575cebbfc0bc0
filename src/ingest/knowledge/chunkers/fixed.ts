import type { PackedSpan } from './packing.ts';
import { type Piece, wordsOf } from './parts.ts';
import { PieceQueue } from './piece-queue.ts';
import type { Ruler, Span } from './ruler.ts';

/**
 * Cuts any text into overlapping windows of about the same size. Each ends at the highest rank in its second half:
 * windows of exactly the same size would all move when a word is inserted.
 */
export function* cutFixed(ruler: Ruler, overlapTokens: number): Generator<PackedSpan> {
  const most = ruler.max - overlapTokens;
  const limits = { least: Math.ceil(most / 2), most };
  const queue = new PieceQueue(ruler);
  const overlap = new Overlap(ruler, overlapTokens);
  for (const piece of wordsOf({ start: 0, end: ruler.text.length }, ruler)) {
    queue.push(piece);
    overlap.push(piece);
    if (queue.isFull()) yield* windowOf(queue.take(limits), overlap);
  }
  while (!queue.isEmpty()) yield* windowOf(queue.take(limits), overlap);
}

function* windowOf(span: Span | null, overlap: Overlap): Generator<PackedSpan> {
  if (!span) return;
  yield { ...overlap.before(span), headingPath: [] };
  overlap.endAt(span.end);
}

/** Keeps the last words of the previous window. */
class Overlap {
  readonly #ruler: Ruler;
  readonly #tokens: number;
  #recent: Piece[] = [];
  #shared: Piece[] = [];

  constructor(ruler: Ruler, tokens: number) {
    this.#ruler = ruler;
    this.#tokens = tokens;
  }

  push(piece: Piece): void {
    this.#recent.push(piece);
  }

  /** Extends the span by as many of the shared words before it as fit. */
  before(span: Span): Span {
    let from = 0;
    for (let piece = this.#shared[from]; piece; piece = this.#shared[from]) {
      const wider = { start: piece.start, end: span.end };
      if (this.#ruler.tokens(wider) <= this.#ruler.max) return wider;
      // In halves, because each attempt counts the whole span.
      from += Math.ceil((this.#shared.length - from) / 2);
    }
    return span;
  }

  endAt(end: number): void {
    const next = this.#recent.findIndex((piece) => piece.start >= end);
    const before = [...this.#shared, ...this.#recent.slice(0, next < 0 ? undefined : next)];
    this.#recent = next < 0 ? [] : this.#recent.slice(next);
    let tokens = 0;
    let from = before.length;
    while (from > 0) {
      tokens += before[from - 1]?.tokens ?? 0;
      if (tokens > this.#tokens) break;
      from -= 1;
    }
    this.#shared = before.slice(from);
  }
}
