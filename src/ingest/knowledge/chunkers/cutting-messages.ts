import type { Chunk, ChunkerSettings } from './chunker.ts';

/** What the thread gets when it is started. */
export interface CuttingStart {
  settings: ChunkerSettings;
}

/** The text in pieces, then a question for each batch of chunks. */
export type CuttingRequest = { type: 'text'; text: string } | { type: 'next' };

export interface CuttingAnswer {
  chunks: Chunk[];
  isLast: boolean;
}
