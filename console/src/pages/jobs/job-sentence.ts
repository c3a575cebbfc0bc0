import type { Job } from '../../api/types.ts';
import { agoText, clockText, durationText } from '../../parts/moments.ts';
import { plural } from '../../parts/number.ts';

/** State first: which one, since when, what happens next. One sentence about a job at a moment. */
export function stateSentence(job: Job, nowMs: number): string {
  const ago = (at: string | null) => (at === null ? '' : ` ${agoText(Date.parse(at), nowMs)}`);
  switch (job.status) {
    case 'queued':
      return Date.parse(job.runAt) > nowMs
        ? `Queued${ago(job.createdAt)}, will start ${agoText(Date.parse(job.runAt), nowMs)}.`
        : `Queued${ago(job.createdAt)}, will start as soon as a worker is free.`;
    case 'running':
      return isWaitingForYou(job)
        ? `Waits for your review${sinceOf(job, nowMs)}. Nothing runs until somebody has looked.`
        : runningSentence(job, nowMs);
    case 'paused':
      return `Paused${ago(job.updatedAt)}. It waits until somebody resumes it.`;
    case 'failed':
      return retrySentence(job, nowMs);
    case 'dead_letter':
      return (
        `Failed for good${ago(job.finishedAt)} after ${plural(attemptsMade(job), 'attempt')}. ` +
        'It is not retried by itself.'
      );
    case 'success':
      return `Done${ago(job.finishedAt)}${took(job)}.`;
    case 'canceled':
      return job.cleanupOpen
        ? `Canceled${ago(job.finishedAt)}; what it added is being removed.`
        : `Canceled${ago(job.finishedAt)}.`;
  }
}

function sinceOf(job: Job, nowMs: number): string {
  return ` for ${durationText(nowMs - Date.parse(job.updatedAt))}`;
}

/** Whether its next step is a person’s. */
export function isWaitingForYou(job: Job): boolean {
  return job.status === 'running' && job.waitingFor === 'review';
}

/** A retry is counted when an attempt has failed, so the current or last attempt is one more. */
export function attemptsMade({
  status,
  startedAt,
  retryCount,
}: Pick<Job, 'status' | 'startedAt' | 'retryCount'>): number {
  if (startedAt === null) return 0;
  return status === 'failed' ? retryCount : retryCount + 1;
}

function runningSentence(job: Job, nowMs: number): string {
  const since = job.startedAt === null ? '' : ` for ${durationText(nowMs - Date.parse(job.startedAt))}`;
  const stage = job.stage === null ? '' : `, now at ${job.stage.replaceAll('_', ' ')}`;
  const waitMs = Date.parse(job.runAt) - nowMs;
  const next = job.leasedBy === null && waitMs > 1_000 ? `, checks again in ${durationText(waitMs)}` : '';
  return `Running${since}${stage}${next}.`;
}

function retrySentence(job: Job, nowMs: number): string {
  const failedAgo = agoText(Date.parse(job.updatedAt), nowMs);
  const attempt = `Attempt ${attemptsMade(job)} of ${job.maxRetries + 1} failed ${failedAgo}`;
  if (job.nextRetryAt === null) return `${attempt}; it will be retried.`;
  const at = new Date(job.nextRetryAt);
  return at.getTime() <= nowMs
    ? `${attempt}; its retry is due now.`
    : `${attempt}; it will be retried at ${clockText(at, new Date(nowMs))}, ${agoText(at.getTime(), nowMs)}.`;
}

function took({ startedAt, finishedAt }: Job): string {
  if (startedAt === null || finishedAt === null) return '';
  return `, took ${durationText(Date.parse(finishedAt) - Date.parse(startedAt))}`;
}
