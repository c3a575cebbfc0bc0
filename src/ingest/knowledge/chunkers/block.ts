import type { Span } from './ruler.ts';

export type BlockKind = 'heading' | 'paragraph' | 'list' | 'table' | 'fence' | 'front_matter';

/** What an author set apart by blank lines or marks. Blocks do not overlap, and have no blanks at their ends. */
export interface Block extends Span {
  kind: BlockKind;
  /** The headings above it, and for a heading itself as well. */
  headingPath: readonly string[];
  /** Chunks do not reach over two sections. */
  section: number;
}
