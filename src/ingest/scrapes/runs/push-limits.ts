import type { NewReference } from '../types.ts';

/** What one transaction of a push stores. */
export const pushLimits = {
  maxItems: 500,
  maxSize: 8 * 1024 * 1024,
  // Metadata is sorted, hashed and written member by member, which takes much longer than as much text.
  sizeOf: ({ content, metadataUnits = 0 }: NewReference) => content.length + 25 * metadataUnits,
};
