import { noPiece, PieceTrie } from './piece-trie.ts';

/** The number of the piece for unknown characters. */
const unknownPiece = noPiece;

/** The unknown piece and control symbols come before it. */
const firstPiece = 6;
/** Marks the start of a word: pieces of the vocabulary have their space in front, as this character. */
const wordStart = '\u2581';
/** Buffers for texts up to this length are reused. */
const keptLength = 16_384;

/**
 * Cuts texts into the pieces that the local model knows, in the most probable way (Viterbi over a unigram model). The
 * result equals that of the model's own tokeniser, which takes 3.5 ms for 600 characters where this takes 0.07.
 */
export class SentencePieces {
  readonly #trie = new PieceTrie({ bits: 16 });
  readonly #scores: Float64Array;
  readonly #lengths: Uint8Array;
  readonly #best = new Float64Array(keptLength);
  readonly #lastPieces = new Uint16Array(keptLength);

  /** `vocabulary`: one line per piece, with the logarithm of its probability after a tab. */
  constructor(vocabulary: string) {
    const lines = vocabulary.trimEnd().split('\n');
    this.#scores = new Float64Array(lines.length);
    this.#lengths = new Uint8Array(lines.length).fill(1);
    for (const [piece, line] of lines.entries()) {
      const [text = '', score] = line.split('\t');
      this.#scores[piece] = Number(score);
      if (piece < firstPiece) continue;
      this.#lengths[piece] = text.length;
      this.#trie.add(text, piece);
    }
  }

  /** The numbers of the pieces in order; empty for a text of spaces. */
  encode(text: string): number[] {
    const units = normalise(text);
    const lastPieces = this.#findBestCut(units);
    const found: number[] = [];
    let previous = -1;
    for (let end = units.length; end > 0; ) {
      const piece = lastPieces[end] ?? unknownPiece;
      // A run of unknown characters is one unknown piece.
      if (piece !== unknownPiece || previous !== unknownPiece) found.push(piece);
      previous = piece;
      end -= this.#lengths[piece] ?? 1;
    }
    return found.reverse();
  }

  /** The model knows no marks of start and end. */
  framed(pieces: readonly number[]): readonly number[] {
    return pieces;
  }

  /**
   * The length of a text for cutting: the pieces that `encode` finds, but each unknown character counts. For the model
   * a Chinese sentence is one unknown piece, and chunks would never end.
   */
  count(text: string): number {
    const units = normalise(text);
    const lastPieces = this.#findBestCut(units);
    let found = 0;
    for (let end = units.length; end > 0; found += 1) end -= this.#lengths[lastPieces[end] ?? 0] ?? 1;
    return found;
  }

  /** For each position, the last piece of the best way to cut everything before it. Valid until the next call. */
  #findBestCut(units: string): Uint16Array {
    const length = units.length + 1;
    const isShort = length <= keptLength;
    const best = isShort ? this.#best.fill(0, 0, length) : new Float64Array(length);
    const lastPieces = isShort ? this.#lastPieces.fill(unknownPiece, 0, length) : new Uint16Array(length);
    const take = (end: number, { piece, score }: { piece: number; score: number }) => {
      const held = best[end] ?? 0;
      // 0 means that no piece ends here yet: almost all scores are below 0. Of equal scores the shorter piece wins.
      if (held !== 0 && score < held) return;
      best[end] = score;
      lastPieces[end] = piece;
    };
    for (let start = 0; start < units.length; start += 1) {
      const before = best[start] ?? 0;
      let isKnown = false;
      let node = 0;
      for (let end = start + 1; end <= units.length; end += 1) {
        node = this.#trie.step(node, units.charCodeAt(end - 1));
        if (node < 0) break;
        const piece = this.#trie.pieceAt(node);
        if (piece === unknownPiece) continue;
        isKnown = true;
        take(end, { piece, score: before + (this.#scores[piece] ?? 0) });
      }
      if (!isKnown) take(start + 1, { piece: unknownPiece, score: before });
    }
    return lastPieces;
  }
}

/**
 * All white space becomes one space: the model was trained on sentences. Its own tokeniser would make a line break an
 * unknown piece, and join the word after it to the one before.
 */
function normalise(text: string): string {
  const words = text.normalize('NFKC').replace(/\s+/gu, ' ').trim();
  return words === '' ? '' : wordStart + words.replaceAll(' ', wordStart);
}
