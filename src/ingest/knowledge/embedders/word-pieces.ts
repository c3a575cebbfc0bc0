import { noPiece, PieceTrie } from './piece-trie.ts';

/** Longer words are unknown. */
const maxWordLength = 100;
/** Pieces that continue a word are written with this in front. */
const continuation = '##';
/** Leads to the continuing pieces in the trie; no word contains it. */
const continuationUnit = 0;

/**
 * Cuts texts into the pieces of a BERT model in lower case: words and signs, then the longest piece that fits, and the
 * longest that continues it. Names of special pieces in a text, such as [SEP], are plain text.
 */
export class WordPieces {
  readonly #trie = new PieceTrie({ bits: 18 });
  readonly #continued: number;
  readonly #unknown: number;
  readonly #start: number;
  readonly #end: number;

  /** `vocabulary`: one piece per line; the number of a piece is that of its line, from 0. */
  constructor(vocabulary: string) {
    const lines = vocabulary.replace(/\n$/, '').split('\n');
    const numberOf = new Map(lines.map((piece, number) => [piece, number]));
    const numbered = (piece: string) => {
      const number = numberOf.get(piece);
      if (number === undefined) throw new Error(`The vocabulary has no piece ${piece}`);
      return number;
    };
    [this.#unknown, this.#start, this.#end] = [numbered('[UNK]'), numbered('[CLS]'), numbered('[SEP]')];
    for (const [number, piece] of lines.entries()) {
      if (/^\[.+\]$/.test(piece) || piece === '') continue;
      const text = piece.startsWith(continuation)
        ? String.fromCharCode(continuationUnit) + piece.slice(continuation.length)
        : piece;
      // 0 is taken for no piece, and is that of a special one.
      this.#trie.add(text, number);
    }
    this.#continued = this.#trie.step(0, continuationUnit);
  }

  /** The numbers of the pieces in order, without the marks of start and end; empty for a text of spaces. */
  encode(text: string): number[] {
    const found: number[] = [];
    for (const word of wordsOf(text)) this.#cut(word, found);
    // Only signs that are taken out: not known, but not nothing.
    if (found.length === 0 && text.trim() !== '') found.push(this.#unknown);
    return found;
  }

  /** With the marks that the model expects. */
  framed(pieces: readonly number[]): number[] {
    return [this.#start, ...pieces, this.#end];
  }

  /** A word of which some part is no piece is unknown as a whole. */
  #cut(word: string, found: number[]): void {
    const before = found.length;
    // As many characters, not units.
    const isLong = word.length > maxWordLength && [...word].length > maxWordLength;
    let start = isLong ? word.length : 0;
    let isKnown = !isLong;
    while (start < word.length) {
      const { piece, end } = this.#longest(word, start);
      if (piece === noPiece) {
        isKnown = false;
        break;
      }
      found.push(piece);
      start = end;
    }
    if (isKnown) return;
    found.length = before;
    found.push(this.#unknown);
  }

  #longest(word: string, start: number): { piece: number; end: number } {
    let node = start === 0 ? 0 : this.#continued;
    let piece = noPiece;
    let end = start;
    for (let at = start; at < word.length; at += 1) {
      node = this.#trie.step(node, word.charCodeAt(at));
      if (node < 0) break;
      const here = this.#trie.pieceAt(node);
      if (here === noPiece) continue;
      piece = here;
      end = at + 1;
    }
    return { piece, end };
  }
}

const plainText = /^[\x20-\x7e\t\n\r]*$/;
const plainWords = /[a-z0-9]+|[!-/:-@[-`{-~]/g;
/** Words and signs after normalisation; ideographs stand alone. */
const anyWords = /[\p{P}$+<=>^`|~]|[^\s\p{P}$+<=>^`|~]+/gu;
const ideographs = new RegExp(
  `[${[
    '\\u4e00-\\u9fff\\u3400-\\u4dbf\\uf900-\\ufaff',
    '\\u{20000}-\\u{2a6df}\\u{2a700}-\\u{2b73f}\\u{2b740}-\\u{2ceaf}\\u{2f800}-\\u{2fa1f}',
  ].join('')}]`,
  'gu',
);

function wordsOf(text: string): string[] {
  if (plainText.test(text)) return text.toLowerCase().match(plainWords) ?? [];
  return normalise(text).match(anyWords) ?? [];
}

/** Without control characters and accents, in lower case. */
function normalise(text: string): string {
  return text
    .replace(/[\t\n\r\p{Z}]/gu, ' ')
    .replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\ufffd]/gu, '')
    .replace(ideographs, ' $& ')
    .normalize('NFD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase();
}
