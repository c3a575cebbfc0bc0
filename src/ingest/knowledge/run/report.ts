import type { Job } from '../../../kernel/jobs/types.ts';
import type { KnowledgeCounters, RunStatus } from '../types.ts';
import { checkpointOf, countersOf, type RunCheckpoint } from './checkpoint.ts';

/** The state of a run as the API reports it. */
export interface RunReport {
  kbId: string;
  /** Null if the knowledge base never ran. */
  job: Job | null;
  /** Null if nothing is committed, or cancel has cleared it. */
  checkpoint: Pick<RunCheckpoint, 'last_batch_id' | 'cursor'> | null;
  counters: KnowledgeCounters;
  /** Sources that could not list all their documents: none of their documents counts as gone. */
  incomplete: RunCheckpoint['incomplete'];
  heartbeatAgeSeconds: number | null;
  isStalled: boolean;
  /** The run waits until then: its embedder throttles or is down, or the next attempt is not due yet. */
  waitingUntil: Date | null;
  /** Why it waits for its embedder; null if it does not. */
  waitingReason: string | null;
  docsExpected: number;
  docsPerSecond: number;
  chunksPerSecond: number;
  etaSeconds: number | null;
}

/** Maps the states of the kernel to those of the API. */
export function statusOf(job: Pick<Job, 'status' | 'cleanupOpen'> | null): RunStatus {
  switch (job?.status) {
    case undefined:
      return 'not_started';
    case 'paused':
      return 'paused';
    case 'success':
      return 'completed';
    case 'dead_letter':
      return 'failed';
    case 'canceled':
      // After cleanup it is as if it had never run.
      return job?.cleanupOpen ? 'canceled' : 'not_started';
    default:
      return 'running';
  }
}

/** Workers send a heartbeat every few seconds; after this time without one there is no worker. */
const silenceMs = 30_000;

/** `known`: how many documents there are, as far as known. `now` is the time of the database. */
export function reportRun(
  kbId: string,
  job: Job | null,
  { now, known }: { now: Date; known: number },
): RunReport {
  const counters = countersOf(job ?? { counters: {} });
  const checkpoint = checkpointOf(job ?? { checkpoint: {} });
  const seconds = secondsAtWork(job, checkpoint, now);
  const perSecond = (count: number) => (seconds === 0 ? 0 : round(count / seconds));
  const docsPerSecond = perSecond(counters.docs_seen);
  const docsExpected = checkpoint.docs_expected ?? known;
  const left = statusOf(job) === 'running' ? docsExpected - counters.docs_seen : 0;
  return {
    kbId,
    job,
    // The rest of the checkpoint is internal.
    checkpoint: hasCheckpoint(job)
      ? { last_batch_id: checkpoint.last_batch_id, cursor: checkpoint.cursor }
      : null,
    counters,
    incomplete: checkpoint.incomplete,
    heartbeatAgeSeconds: job?.heartbeatAt ? round(secondsBetween(job.heartbeatAt, now)) : null,
    isStalled: isStalled(job, now),
    waitingUntil: waitsAt(job, now) ? (job?.runAt ?? null) : null,
    waitingReason: waitsAt(job, now) ? checkpoint.waiting : null,
    docsExpected,
    docsPerSecond,
    chunksPerSecond: perSecond(counters.chunks_seen),
    etaSeconds: left > 0 && docsPerSecond > 0 ? Math.ceil(left / docsPerSecond) : null,
  };
}

/** The state of a run without anything that tells of its documents. */
export function withoutContents(report: RunReport): RunReport {
  return {
    ...report,
    job: report.job && { ...report.job, errorMessage: null },
    checkpoint: null,
    counters: countersOf({ counters: {} }),
    incomplete: [],
    docsExpected: 0,
    docsPerSecond: 0,
    chunksPerSecond: 0,
    etaSeconds: null,
  };
}

function hasCheckpoint(job: Job | null): boolean {
  return job !== null && Object.keys(job.checkpoint).length > 0;
}

/** Pauses and waits do not count. */
function secondsAtWork(job: Job | null, { active_ms: activeMs }: RunCheckpoint, now: Date): number {
  if (activeMs > 0) return activeMs / 1000;
  return job?.startedAt ? secondsBetween(job.startedAt, job.finishedAt ?? now) : 0;
}

/** The run is due, and no worker has sent a heartbeat. A run that waits for its time is not stalled. */
function isStalled(job: Job | null, now: Date): boolean {
  if (!job || statusOf(job) !== 'running') return false;
  const heardAt = Math.max(job.heartbeatAt?.getTime() ?? 0, job.runAt.getTime());
  return now.getTime() - heardAt > silenceMs;
}

function waitsAt(job: Job | null, now: Date): boolean {
  return job !== null && statusOf(job) === 'running' && job.leasedBy === null && job.runAt > now;
}

function secondsBetween(from: Date, to: Date): number {
  return Math.max(0, to.getTime() - from.getTime()) / 1000;
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
