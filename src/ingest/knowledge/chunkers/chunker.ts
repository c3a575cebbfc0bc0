import type { Span } from './ruler.ts';

/** How texts are cut. All strategies measure in tokens of the same counter. */
export type ChunkerSettings =
  | { strategy: 'markdown'; maxTokens: number }
  | { strategy: 'recursive'; maxTokens: number }
  | { strategy: 'fixed'; maxTokens: number; overlapTokens: number };

export interface Chunk {
  /** What is embedded and found: normalised, never empty. */
  text: string;
  /** SHA-256 of the normalised text, in hex. Headings and places are not in it: the same words are embedded once. */
  contentHash: string;
  /** The headings above it, outermost first. */
  headingPath: string[];
  /** Where it stands in the document's text, in UTF-16 units; the end is excluded. */
  start: number;
  end: number;
  tokens: number;
}

/** Pure: the same text always gives the same chunks, and a small edit moves the borders of one or two. */
export interface Chunker {
  readonly settings: ChunkerSettings;
  /** Lazily, because one text can be a book; the caller takes a turn of the event loop now and then. */
  chunks(text: string): Iterable<Chunk>;
}

export type CountTokens = (text: string) => number;

export type BlockKind = 'heading' | 'paragraph' | 'list' | 'table' | 'fence' | 'front_matter';

/** What an author set apart by blank lines or marks. Blocks do not overlap, and have no blanks at their ends. */
export interface Block extends Span {
  kind: BlockKind;
  /** The headings above it, and for a heading itself as well. */
  headingPath: readonly string[];
  /** Chunks do not reach over two sections. */
  section: number;
}
