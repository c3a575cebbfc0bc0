import type { Client } from '../../../cli/client/client.ts';
import { follow } from '../../../cli/client/follow.ts';
import type { JobView } from '../../../cli/client/job-watch.ts';
import { shortText } from '../../../cli/terminal/cells.ts';
import { type ExitCode, exitCodes } from '../../../cli/terminal/exit.ts';
import { checkpointOf, type UploadCheckpoint } from '../staging/checkpoint.ts';
import { isFinished } from '../types.ts';
import type { renderUpload } from '../views.ts';

/** An upload as the API shows it. */
export type UploadView = ReturnType<typeof renderUpload>;

interface FollowRun {
  uploadId: string;
  /** As a person calls the file. */
  label: string;
  signal: AbortSignal;
}

/** Follows an upload until it has ended or is held for review. */
export async function followUpload(client: Client, run: FollowRun): Promise<UploadView> {
  const { uploadId, label, signal } = run;
  const look = async () => {
    const upload = await client.get<UploadView>(`/api/uploads/${uploadId}`, { signal });
    // The record learns its figures when a stage ends; how far a stage is, is in the checkpoint of the job.
    const job = isSettled(upload)
      ? null
      : await client.get<JobView>(`/api/jobs/${upload.job_id}`, { signal });
    return { upload, checkpoint: checkpointOf(job?.checkpoint ?? {}) };
  };
  const { upload } = await follow(look, {
    signal,
    stageOf: ({ upload, checkpoint }) => {
      if (isSettled(upload)) return null;
      const { word, ...figures } = stageOf(upload, checkpoint);
      return { words: `${shortText(label, 80)}: ${word}`, ...figures };
    },
  });
  return upload;
}

function isSettled(upload: UploadView): boolean {
  return isFinished(upload.status) || isHeld(upload);
}

/** It waits for a person, however long that takes. */
function isHeld({ status, review }: UploadView): boolean {
  return status === 'staging_complete' && review;
}

interface Stage {
  word: string;
  done: number;
  total: number | null;
}

export function stageOf(upload: UploadView, { figures, promotion }: UploadCheckpoint): Stage {
  switch (upload.status) {
    case 'pending':
      return { word: 'waiting for its turn', done: 0, total: null };
    case 'processing':
      return { word: 'reading rows into staging', done: figures.totalRows, total: null };
    case 'staging_complete':
      return { word: 'staged', done: upload.total_rows, total: upload.total_rows };
    default: {
      // Entities are promoted first and are few; the rows that a person counts are the daily metrics.
      const done = promotion.entityType === 'daily_metric' ? promotion.afterRow + 1 : 0;
      return { word: 'promoting rows', done, total: upload.total_rows };
    }
  }
}

export function exitCodeOfUpload(upload: UploadView): ExitCode {
  if (upload.status === 'partial') return exitCodes.someRowsFailed;
  return upload.status === 'completed' || isHeld(upload) ? exitCodes.ok : exitCodes.failed;
}

/** What a person has to know beyond the figures: why, and what can be done. */
export function describeUpload(upload: UploadView): string[] {
  const { upload_id: id, filename, status } = upload;
  const lines: string[] = [];
  if (upload.error_text !== null) {
    lines.push(`${shortText(filename ?? id, 80)} is ${status}: ${shortText(upload.error_text, 600)}`);
  }
  for (const { message, count } of upload.warnings) {
    lines.push(`Warning (${count.toLocaleString('en-US')} rows): ${shortText(message, 300)}`);
  }
  // One that ended before promotion has failed with all of its rows, but only the invalid ones were refused.
  if ((upload.row_count === null ? upload.invalid_rows : upload.failed_rows) > 0) {
    lines.push(`Rows were refused; each with its reason: sluice upload rejected ${id} -o rejected.csv`);
  }
  if (isHeld(upload)) {
    lines.push(`Upload ${id} is held for review; POST /api/uploads/${id}/promote lets it go on.`);
  }
  return lines;
}
