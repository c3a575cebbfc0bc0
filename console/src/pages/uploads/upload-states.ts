import type { Upload } from '../../api/types.ts';

export type UploadStatus = Upload['status'];

export const uploadStatuses = [
  'pending',
  'processing',
  'staging_complete',
  'promoting',
  'completed',
  'partial',
  'failed',
] as const satisfies readonly UploadStatus[];

export const steps = ['Drop', 'Columns', 'Check', 'Promote', 'Result'] as const;
export type Step = (typeof steps)[number];

export function isFinished({ status }: Pick<Upload, 'status'>): boolean {
  return status === 'completed' || status === 'partial' || status === 'failed';
}

/** It is being processed, so it is polled. */
export function isMoving(upload: Upload): boolean {
  return !isFinished(upload) && (!isHeld(upload) || upload.checking);
}

/** It waits for a person. */
export function isHeld({ status, review }: Pick<Upload, 'status' | 'review'>): boolean {
  return status === 'staging_complete' && review;
}

export function isUndoable({ status, undone_at: undoneAt }: Upload): boolean {
  return (status === 'completed' || status === 'partial') && undoneAt === null;
}

/** The record decides; only where it waits for a person does the link choose between looking at columns and rows. */
export function stepOf(upload: Upload, asked: 'columns' | 'check' | undefined): Step {
  if (isFinished(upload)) return 'Result';
  if (upload.status === 'promoting') return 'Promote';
  if (upload.status === 'pending' || upload.status === 'processing') return 'Columns';
  if (!upload.review) return 'Promote';
  if (lacksColumns(upload)) return 'Columns';
  if (asked !== undefined) return asked === 'columns' ? 'Columns' : 'Check';
  return hasSuggestions(upload) ? 'Columns' : 'Check';
}

/** The step in which an upload failed: reading, checking or promoting. */
export function failedAt({ error_code: code, total_rows: rows }: Upload): Step {
  if (code === 'no_rows_promoted' || code === 'database_lost') return 'Promote';
  return rows === 0 ? 'Columns' : 'Check';
}

/** Without these nothing of the file can be read, so there is nothing to check. */
export function lacksColumns({ layout }: Upload): boolean {
  return (layout?.missing?.length ?? 0) > 0;
}

/** Columns that may be something which no other column gives, and nobody has decided. */
function hasSuggestions({ layout }: Upload): boolean {
  const isOpen = (field: string | null) => field !== null && !Object.hasOwn(layout?.sources ?? {}, field);
  return layout?.unmapped?.some(({ suggestion }) => isOpen(suggestion)) ?? false;
}

/** What the chip says; the record keeps its status when it was undone or is being read again. */
export function chipOf(upload: Upload): { status: string; word?: string } {
  if (upload.undone_at !== null) return { status: 'undone' };
  if (upload.error_code === 'canceled_by_user') return { status: 'canceled' };
  if (isHeld(upload)) {
    if (upload.checking) return { status: 'processing', word: 'reading again' };
    return lacksColumns(upload)
      ? { status: upload.status, word: 'waits for your mapping' }
      : { status: upload.status };
  }
  if (upload.status === 'pending') return { status: 'pending', word: 'waits for a slot' };
  if (upload.status === 'processing') return { status: 'processing', word: 'being read' };
  if (upload.status === 'staging_complete') return { status: 'promoting', word: 'about to be promoted' };
  return { status: upload.status };
}

export function nameOf({ filename, upload_id: id }: Pick<Upload, 'filename' | 'upload_id'>): string {
  return filename ?? `Upload ${id.slice(0, 8)}`;
}
