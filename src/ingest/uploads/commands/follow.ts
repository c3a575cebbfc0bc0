import type { Client } from '../../../cli/client/client.ts';
import { defaultMaxOutageMs, Outage } from '../../../cli/client/event-stream.ts';
import type { JobView } from '../../../cli/client/job-watch.ts';
import { shortText } from '../../../cli/terminal/cells.ts';
import { type ExitCode, exitCodes } from '../../../cli/terminal/exit.ts';
import { note } from '../../../cli/terminal/output.ts';
import { ProgressLine } from '../../../cli/terminal/progress.ts';
import { pause } from '../../../lib/timing/abort.ts';
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

interface Stage {
  word: string;
  done: number;
  total: number | null;
}

const pollMs = 400;

/**
 * Follows an upload until it has ended or is held for review. Each stage says its name once and then shows how far it
 * is. A server that goes away in between is waited for.
 */
export async function followUpload(client: Client, run: FollowRun): Promise<UploadView> {
  const { uploadId, label, signal } = run;
  let progress = new ProgressLine();
  let word = '';
  const outage = new Outage(defaultMaxOutageMs, (text) => {
    progress.end();
    note(text);
  });
  const show = (stage: Stage): void => {
    if (stage.word !== word) {
      progress.end();
      note(`${shortText(label, 80)}: ${stage.word}`);
      progress = new ProgressLine();
      word = stage.word;
    }
    progress.update(stage);
  };
  try {
    for (;;) {
      // The server has just taken the file in, so it is expected back.
      const seen = await outage.bridge(() => look(client, { uploadId, signal }), signal);
      if (seen !== null) {
        if (isSettled(seen.upload)) return seen.upload;
        show(stageOf(seen.upload, seen.checkpoint));
      }
      await pause(seen === null ? outage.nextPauseMs() : pollMs, signal);
      signal.throwIfAborted();
    }
  } finally {
    progress.end();
  }
}

interface Seen {
  upload: UploadView;
  checkpoint: UploadCheckpoint;
}

async function look(
  client: Client,
  { uploadId, signal }: { uploadId: string; signal: AbortSignal },
): Promise<Seen> {
  const upload = await client.get<UploadView>(`/api/uploads/${uploadId}`, { signal });
  // The record learns its figures when a stage ends; how far a stage is, is in the checkpoint of the job.
  const job = isSettled(upload) ? null : await client.get<JobView>(`/api/jobs/${upload.job_id}`, { signal });
  return { upload, checkpoint: checkpointOf(job?.checkpoint ?? {}) };
}

function isSettled(upload: UploadView): boolean {
  return isFinished(upload.status) || isHeld(upload);
}

/** It waits for a person, however long that takes. */
function isHeld({ status, review }: UploadView): boolean {
  return status === 'staging_complete' && review;
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
