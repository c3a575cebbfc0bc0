import type { Block } from './chunker.ts';
import { isBlankLine, lineAt } from './markdown-lines.ts';
import { type PackedSpan, pack } from './packing.ts';
import type { Ruler } from './ruler.ts';
import { trimmed } from './splitters.ts';

/** Cuts by paragraphs, then sentences, lines, words and letters: for texts without Markdown. */
export function cutRecursively(ruler: Ruler): Iterable<PackedSpan> {
  return pack(paragraphs(ruler.text), ruler);
}

function* paragraphs(text: string): Generator<Block> {
  let start = 0;
  let at = 0;
  while (at < text.length) {
    const line = lineAt(text, at);
    if (isBlankLine(text, line)) {
      yield* paragraph(text, start, at);
      start = line.next;
    }
    at = line.next;
  }
  yield* paragraph(text, start, text.length);
}

function* paragraph(text: string, start: number, end: number): Generator<Block> {
  for (const span of trimmed(text, { start, end })) {
    yield { kind: 'paragraph', headingPath: [], section: 0, start: span.start, end: span.end };
  }
}
