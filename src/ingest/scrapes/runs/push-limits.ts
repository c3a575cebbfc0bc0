import type { NewReference } from '../types.ts';

/** What one transaction of a push stores. */
export const pushLimits = {
  maxItems: 500,
  maxSize: 8 * 1024 * 1024,
  sizeOf: ({ content }: NewReference) => content.length,
};
