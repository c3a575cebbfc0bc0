import type { DocumentKind, DocumentLimits, ReadResult } from './types.ts';

export interface ThreadQuestion {
  id: number;
  kind: DocumentKind;
  name: string;
  /** Handed over, not copied. */
  bytes: Uint8Array<ArrayBuffer>;
  charset: string | null;
  limits: DocumentLimits;
}

export type ThreadAnswer =
  | { type: 'progress'; id: number }
  | { type: 'done'; id: number; result: ReadResult };
