import { type Archive, openArchive } from '../../../../lib/formats/archive.ts';
import { documentErrors } from '../errors.ts';
import type { DocumentLimits } from '../types.ts';

/** Only what is asked for is unfolded, and all of it together at most to the limit. */
export function openDocxArchive(bytes: Buffer, limits: DocumentLimits): Promise<Archive> {
  const { docx_is_broken, docx_is_encrypted, document_unfolds_too_far } = documentErrors.raise;
  return openArchive(bytes, {
    limits: {
      maxEntries: limits.maxArchiveEntries,
      maxInflatedBytes: limits.maxInflatedBytes,
      maxRatio: limits.maxInflateRatio,
    },
    errors: {
      broken: (why, cause) => docx_is_broken(why, { cause }),
      encrypted: (why) => docx_is_encrypted(why),
      expandsTooFar: (why) => document_unfolds_too_far(why),
    },
  });
}
