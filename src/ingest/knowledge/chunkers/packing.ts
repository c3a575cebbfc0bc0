import type { Block } from './chunker.ts';
import { blockStrength, type Piece, piecesOf } from './parts.ts';
import { PieceQueue } from './piece-queue.ts';
import type { Ruler, Span } from './ruler.ts';

export interface PackedSpan extends Span {
  headingPath: readonly string[];
}

/**
 * Packs blocks into chunks. A block of at least a quarter of a chunk gets its own chunk, together with shorter blocks
 * before it (headings, lead-ins) and a short rest at the end of a section. This depends only on the block, not on its
 * position, so an edit of one block moves only the borders of its neighbours. Only rows of short blocks and parts of
 * long ones are cut by rank (`cut-rank.ts`).
 */
export function* pack(blocks: Iterable<Block>, ruler: Ruler): Generator<PackedSpan> {
  const packer = new Packer(ruler);
  for (const block of blocks) yield* packer.add(block);
  yield* packer.end();
}

class Packer {
  readonly #ruler: Ruler;
  /** Short blocks that wait for a longer one. */
  readonly #run: PieceQueue;
  #isRunOfHeadings = true;
  #section = 0;
  #headingPath: readonly string[] = [];
  /** The last chunk, held back in case only a short rest follows. */
  #held: PackedSpan | null = null;
  /** Where the block of the last chunk starts. */
  #heldFrom = 0;

  constructor(ruler: Ruler) {
    this.#ruler = ruler;
    this.#run = new PieceQueue(ruler);
  }

  *add(block: Block): Generator<PackedSpan> {
    const tokens = this.#ruler.tokens(block);
    if (tokens === 0) return;
    if (block.section !== this.#section) yield* this.#enterSection(block.section);
    this.#headingPath = block.headingPath;
    const piece = { start: block.start, end: block.end, tokens, strength: blockStrength };
    if (tokens < this.#ruler.short) yield* this.#addShort(block, piece);
    else yield* this.#addLong(block, piece);
  }

  *end(): Generator<PackedSpan> {
    yield* this.#shortenRun();
    const rest = this.#run.span();
    if (rest && !this.#joinsHeld(rest)) yield* this.#emit(rest);
    this.#clearRun();
    if (this.#held) yield this.#held;
    this.#held = null;
  }

  /** Checks the room for the whole block; otherwise it would depend on what came before the block. */
  #joinsHeld(rest: Span): boolean {
    const held = this.#held;
    if (!held || !this.#join({ start: this.#heldFrom, end: held.end }, rest)) return false;
    const joined = this.#join(held, rest);
    if (joined) this.#held = { ...joined, headingPath: held.headingPath };
    return joined !== null;
  }

  /** Headings without text belong to the section below them. */
  *#enterSection(section: number): Generator<PackedSpan> {
    this.#section = section;
    if (this.#run.isEmpty() || !this.#isRunOfHeadings) {
      yield* this.end();
      return;
    }
    if (this.#held) yield this.#held;
    this.#held = null;
  }

  *#addShort(block: Block, piece: Piece): Generator<PackedSpan> {
    this.#run.push(piece);
    if (block.kind !== 'heading') this.#isRunOfHeadings = false;
    if (this.#run.isFull()) yield* this.#emit(this.#run.take());
  }

  *#addLong(block: Block, piece: Piece): Generator<PackedSpan> {
    yield* this.#shortenRun();
    const run = this.#run.span();
    const joined = run && this.#run.tokens() <= this.#ruler.max - this.#ruler.short && this.#join(run, block);
    const isLeadIn = run !== null && this.#run.tokens() < this.#ruler.short;
    if (joined) {
      yield* this.#emit(joined);
    } else if (isLeadIn && (piece.tokens > this.#ruler.max || !isWhole(block))) {
      yield* this.#divide(block, run);
      if (piece.tokens <= this.#ruler.max) this.#heldFrom = block.start;
    } else {
      yield* this.#emit(run);
      if (piece.tokens > this.#ruler.max) yield* this.#divide(block, null);
      else yield* this.#emit(block);
    }
    this.#clearRun();
  }

  /** The first part always leaves room for a lead-in, so that it does not move when one is added or removed. */
  *#divide(block: Block, leadIn: Span | null): Generator<PackedSpan> {
    const queue = new PieceQueue(this.#ruler);
    let isFirst = true;
    for (const piece of piecesOf(block, this.#ruler)) {
      queue.push(piece);
      if (!queue.isFull()) continue;
      yield* isFirst ? this.#emitFirst(leadIn, queue) : this.#emit(queue.take());
      isFirst = false;
    }
    while (!queue.isEmpty()) {
      yield* isFirst ? this.#emitFirst(leadIn, queue) : this.#emit(queue.take());
      isFirst = false;
    }
  }

  *#emitFirst(leadIn: Span | null, queue: PieceQueue): Generator<PackedSpan> {
    const first = queue.take({ most: this.#ruler.max - this.#ruler.short });
    const joined = leadIn && first && this.#join(leadIn, first);
    if (joined) {
      yield* this.#emit(joined);
    } else {
      yield* this.#emit(leadIn);
      yield* this.#emit(first);
    }
  }

  /** A row of short blocks can be longer than a chunk. */
  *#shortenRun(): Generator<PackedSpan> {
    for (let run = this.#run.span(); run; run = this.#run.span()) {
      if (this.#run.tokens() <= this.#ruler.max && this.#ruler.tokens(run) <= this.#ruler.max) return;
      yield* this.#emit(this.#run.take());
    }
  }

  #clearRun(): void {
    this.#run.clear();
    this.#isRunOfHeadings = true;
  }

  #join(first: Span, second: Span): Span | null {
    const joined = { start: first.start, end: second.end };
    return this.#ruler.tokens(joined) <= this.#ruler.max ? joined : null;
  }

  *#emit(span: Span | null): Generator<PackedSpan> {
    if (!span) return;
    if (this.#held) yield this.#held;
    this.#held = { start: span.start, end: span.end, headingPath: this.#headingPath };
    this.#heldFrom = span.start;
  }
}

/** Code and tables stay in one piece, even if that separates them from their lead-in. */
function isWhole(block: Block): boolean {
  return block.kind === 'fence' || block.kind === 'table';
}
