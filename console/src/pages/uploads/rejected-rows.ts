import type { Upload } from '../../api/types.ts';

/**
 * Rows that have a reason of their own. An upload that ended before promotion has failed with all of its rows, and of
 * those only the invalid ones were rejected.
 */
export function rejectedRows(upload: Upload): number {
  return upload.row_count === null ? upload.invalid_rows : upload.failed_rows;
}
