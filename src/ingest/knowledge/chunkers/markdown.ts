import { markdownBlocks } from './markdown-blocks.ts';
import { type PackedSpan, pack } from './packing.ts';
import type { Ruler } from './ruler.ts';

/**
 * By headings, paragraphs, lists, tables and code. Only what is too long for a chunk is taken apart: a list into
 * items, a table into rows, a paragraph into sentences, and those into words.
 */
export function cutMarkdown(ruler: Ruler): Iterable<PackedSpan> {
  return pack(markdownBlocks(ruler.text), ruler);
}
