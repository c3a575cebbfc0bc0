import type { Span } from './ruler.ts';

/** How texts are divided into chunks. All strategies use the same token counter. */
export type ChunkerSettings =
  | { strategy: 'markdown' | 'recursive'; maxTokens: number; minTokens?: number; context?: ChunkContext }
  | { strategy: 'fixed'; maxTokens: number; overlapTokens: number; context?: ChunkContext };

/** Whether a chunk is embedded together with the title and headings that it belongs to and does not contain. */
export type ChunkContext = 'headings' | 'none';

export interface Chunk {
  /** Normalised, never empty. */
  text: string;
  /**
   * SHA-256 of the normalised text in hex. Headings and positions are not included: the same words are embedded once.
   */
  contentHash: string;
  /** The headings above it, outermost first. */
  headingPath: string[];
  /** Position in the document's text, in UTF-16 units; the end is exclusive. */
  start: number;
  end: number;
  tokens: number;
  /** The first and last page that it is on; absent: the document has no pages. */
  pages?: PageRange;
  /** Title and headings to embed and index it with; absent: none. */
  context?: string;
}

/** Pages count from 1. */
export interface PageRange {
  from: number;
  to: number;
}

/** Deterministic: the same text always gives the same chunks. A small edit moves the borders of one or two chunks. */
export interface Chunker {
  readonly settings: ChunkerSettings;
  /** Lazy, because a text can be very long; the caller yields to the event loop in between. */
  chunks(text: string): Iterable<Chunk>;
}

export type CountTokens = (text: string) => number;

export type BlockKind = 'heading' | 'paragraph' | 'list' | 'table' | 'fence' | 'front_matter';

/** A part of a text that blank lines or markup separate. Blocks do not overlap and are trimmed. */
export interface Block extends Span {
  kind: BlockKind;
  /** The headings above it; a heading includes itself. */
  headingPath: readonly string[];
  /** A chunk never spans two sections. */
  section: number;
}
