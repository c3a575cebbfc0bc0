import type { Block, BlockKind } from './chunker.ts';
import {
  closesFence,
  type Fence,
  indentationOf,
  isListItem,
  isTableRule,
  type Line,
  lineAt,
  openingFence,
} from './markdown-lines.ts';
import type { Ruler, Span } from './ruler.ts';
import {
  codePoints,
  graphemes,
  lines,
  phrases,
  type Splitter,
  sentences,
  syllables,
  trimmed,
  words,
} from './splitters.ts';

/** A part of a text that fits into a chunk. */
export interface Piece extends Span {
  tokens: number;
  /** How good its start is as a place to cut: a paragraph is better than a sentence, and so on. */
  strength: number;
}

const letters: Splitter[] = [words, syllables, graphemes, codePoints];
const finest: Splitter[] = [phrases, ...letters];

/** How a block is divided: each splitter cuts what the one before it left too long. */
const splitters: Record<BlockKind, Splitter[]> = {
  heading: [sentences, ...finest],
  paragraph: [sentences, lines, ...finest],
  list: [items, itemLines, sentences, ...finest],
  table: [rows, sentences, ...finest],
  fence: [lines, ...finest],
  front_matter: [lines, ...finest],
};

/** Stronger than the start of any part. */
export const blockStrength = 1 + Math.max(...Object.values(splitters).map((levels) => levels.length));

/** The parts of a block that is too long for one chunk; lazy, because there can be millions. */
export function piecesOf(block: Block, ruler: Ruler): Generator<Piece> {
  return pieces(block, ruler, { levels: splitters[block.kind], strength: blockStrength });
}

/** The same with words only, for windows that ignore sentences. */
export function wordsOf(span: Span, ruler: Ruler): Generator<Piece> {
  return pieces(span, ruler, { levels: letters, strength: letters.length });
}

function* pieces(
  span: Span,
  ruler: Ruler,
  { levels, strength }: { levels: Splitter[]; strength: number },
): Generator<Piece> {
  const [split, ...finer] = levels;
  if (!split) return;
  // The first part has the strength of the span itself.
  let strengthHere = strength;
  for (const part of split(ruler.text, span)) {
    const tokens = ruler.tokens(part);
    if (tokens > ruler.max && finer.length > 0) {
      yield* pieces(part, ruler, { levels: finer, strength: strengthHere });
    } else if (tokens > 0) {
      yield { start: part.start, end: part.end, tokens, strength: strengthHere };
    }
    strengthHere = levels.length;
  }
}

/** Items of a list on all levels, each with the text below it. */
function items(text: string, span: Span): Generator<Span> {
  return joinedLines(text, span, (line, isInFence) => !isInFence && isListItem(line));
}

/** Lines of an item; fenced code stays together. */
function itemLines(text: string, span: Span): Generator<Span> {
  return joinedLines(text, span, (_, isInFence) => !isInFence);
}

/** Rows of a table; the header stays with the dashes below it. */
function rows(text: string, span: Span): Generator<Span> {
  return joinedLines(text, span, (line) => !isTableRule(line));
}

function* joinedLines(
  text: string,
  span: Span,
  begins: (line: Line, isInFence: boolean) => boolean,
): Generator<Span> {
  let start = span.start;
  let fence: Fence | null = null;
  let at = span.start;
  while (at < span.end) {
    const line = lineAt(text, at);
    if (fence && at > span.start && indentationOf(line) < 2 && line.head.trim() !== '') fence = null;
    if (at > start && begins(line, fence !== null)) {
      yield* trimmed(text, { start, end: at });
      start = at;
    }
    if (fence) fence = closesFence(line, fence) ? null : fence;
    else fence = openingFence(line, true);
    at = line.next;
  }
  yield* trimmed(text, { start, end: span.end });
}
