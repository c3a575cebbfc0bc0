import { isSluiceError } from '../../../lib/errors.ts';
import { profileOf } from '../reports/profile.ts';
import type { Upload } from '../types.ts';
import type { UploadCheckpoint } from './checkpoint.ts';
import type { ParseReport } from './parse.ts';

/**
 * A file whose columns nobody knows is not lost when somebody reviews it: it waits without rows, with its headers and
 * what they may mean, for a mapping. The kept checkpoint does not move: promoted without a mapping, it is read again
 * and fails. Every other error stays one.
 */
export function holdUnmapped(error: unknown, upload: Upload, checkpoint: UploadCheckpoint): ParseReport {
  const isHeld = upload.review && isSluiceError(error) && error.code === 'required_columns_missing';
  if (!isHeld) throw error;
  const { headers, missing, samples } = error.details as Record<'headers' | 'missing', string[]> & {
    samples: string[][];
  };
  const columns = profileOf(upload.platform).mapHeaders(headers, { mapping: upload.mapping });
  const warnings = [{ code: error.code, message: error.message, count: 1 }];
  return {
    checkpoint: { ...checkpoint, isParsed: true, figures: { ...checkpoint.figures, warnings } },
    layout: {
      mapping_version: upload.mappingVersion,
      headers,
      samples,
      missing,
      sources: Object.fromEntries(
        Object.entries(columns.fields).map(([field, found]) => [field, found[0]?.header]),
      ),
      unmapped: columns.unmapped.map(({ header, suggestion }) => ({ header, suggestion })),
      notes: columns.notes,
      currency: columns.currency,
      conventions: null,
    },
  };
}
