import { cutRank } from './cut-rank.ts';
import type { Piece } from './parts.ts';
import type { Ruler, Span } from './ruler.ts';

/** Consecutive pieces that wait for their chunk: at most one chunk and what is looked ahead. */
export class PieceQueue {
  readonly #ruler: Ruler;
  #pieces: Piece[] = [];
  #tokens = 0;

  constructor(ruler: Ruler) {
    this.#ruler = ruler;
  }

  tokens(): number {
    return this.#tokens;
  }

  isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  /** Whether it holds enough to choose a cut as well as with all that follows. */
  isFull(): boolean {
    return this.#tokens > this.#ruler.max + this.#ruler.short;
  }

  push(piece: Piece): void {
    this.#pieces.push(piece);
    this.#tokens += piece.tokens;
  }

  /** From its first piece to its last; null if it is empty. */
  span(): Span | null {
    const [first] = this.#pieces;
    const last = this.#pieces.at(-1);
    return first && last ? { start: first.start, end: last.end } : null;
  }

  clear(): void {
    this.#pieces = [];
    this.#tokens = 0;
  }

  /** Takes all pieces if they fit into one chunk, otherwise those up to the best cut. Null if empty. */
  take(limits: TakeLimits = {}): Span | null {
    const all = this.span();
    if (!all) return null;
    const most = limits.most ?? this.#ruler.max;
    if (this.#tokens <= most && this.#ruler.tokens(all) <= this.#ruler.max) {
      this.clear();
      return all;
    }
    return this.#takeFirst(this.#fitting(this.#bestCount(limits)));
  }

  /** How many pieces make the next chunk: up to the highest rank between the shortest and the longest chunk. */
  #bestCount({ least = this.#ruler.short, most = this.#ruler.max }: TakeLimits): number {
    // If the end is in sight, the rest must not be too short either.
    const latest = this.isFull() ? most : Math.min(most, this.#tokens - this.#ruler.short);
    let best = { count: 0, strength: -1, rank: -1 };
    let fallback = 1;
    let sum = 0;
    for (const [index, piece] of this.#pieces.entries()) {
      sum += piece.tokens;
      if (sum > most) break;
      fallback = index + 1;
      const next = this.#pieces[index + 1];
      if (!next || sum < least || sum > latest) continue;
      const rank = cutRank(this.#ruler.text, next.start);
      const isBetter =
        next.strength > best.strength || (next.strength === best.strength && rank >= best.rank);
      if (isBetter) best = { count: index + 1, strength: next.strength, rank };
    }
    return best.count || fallback;
  }

  /** Tokens of pieces need not add up to those of the whole, so the whole is counted and shortened until it fits. */
  #fitting(count: number): number {
    let fitting = count;
    while (fitting > 1) {
      const tokens = this.#ruler.tokens(this.#spanOf(fitting));
      if (tokens <= this.#ruler.max) break;
      // Infinite tokens halve it, so that a few steps are enough.
      const share = Number.isFinite(tokens) ? this.#ruler.max / tokens : 0.5;
      fitting = Math.max(1, Math.min(fitting - 1, Math.floor(fitting * share)));
    }
    return fitting;
  }

  #takeFirst(count: number): Span {
    const span = this.#spanOf(count);
    for (const piece of this.#pieces.splice(0, count)) this.#tokens -= piece.tokens;
    return span;
  }

  #spanOf(count: number): Span {
    const first = this.#pieces[0];
    const last = this.#pieces[Math.max(0, count - 1)];
    if (!first || !last) throw new Error(`A queue of ${this.#pieces.length} pieces has no ${count} to take.`);
    return { start: first.start, end: last.end };
  }
}

/** In tokens. `most` below a whole chunk leaves room for text before it. */
interface TakeLimits {
  least?: number;
  most?: number;
}
