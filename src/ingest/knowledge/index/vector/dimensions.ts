import { knowledgeErrors } from '../../errors.ts';
import type { VectorSpace } from './types.ts';

/** Vectors of different lengths cannot be compared. */
export function assertDimensions(space: VectorSpace, dimensions: number): void {
  if (dimensions === space.dimensions) return;
  throw knowledgeErrors.raise.vector_dimensions_differ(
    `A vector of ${dimensions} dimensions does not fit knowledge base ${space.kbId}, ` +
      `whose index (generation ${space.generation}) has ${space.dimensions}`,
  );
}
