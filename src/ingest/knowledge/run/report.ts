import type { Job } from '../../../kernel/jobs/types.ts';
import type { KnowledgeCounters, RunStatus } from '../types.ts';
import { checkpointOf, countersOf, type RunCheckpoint } from './checkpoint.ts';

/** What people are told of a run. */
export interface RunReport {
  kbId: string;
  /** Null: the knowledge base never ran. */
  job: Job | null;
  /** Null: nothing is committed, or a cancel has cleared it. */
  checkpoint: Pick<RunCheckpoint, 'last_batch_id' | 'cursor'> | null;
  counters: KnowledgeCounters;
  /** Sources that could not show everything they have: nothing of them was taken for gone. */
  incomplete: RunCheckpoint['incomplete'];
  heartbeatAgeSeconds: number | null;
  isStalled: boolean;
  /** It rests until then: its embedder asked for silence or is down, or the next try of a failed run is not due yet. */
  waitingUntil: Date | null;
  docsExpected: number;
  docsPerSecond: number;
  chunksPerSecond: number;
  etaSeconds: number | null;
}

/** The kernel's states in the words of this house. */
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
      // Once everything that it added is gone, it is as if it had never run.
      return job?.cleanupOpen ? 'canceled' : 'not_started';
    default:
      return 'running';
  }
}

/** A worker tells of itself every few seconds; this long a silence means that there is none. */
const silenceMs = 30_000;

/** `known`: how many documents there are, as far as it can be told without looking. `now` is the database's. */
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
    // What a run remembers besides is its own.
    checkpoint: hasCheckpoint(job)
      ? { last_batch_id: checkpoint.last_batch_id, cursor: checkpoint.cursor }
      : null,
    counters,
    incomplete: checkpoint.incomplete,
    heartbeatAgeSeconds: job?.heartbeatAt ? round(secondsBetween(job.heartbeatAt, now)) : null,
    isStalled: isStalled(job, now),
    waitingUntil: waitsAt(job, now) ? (job?.runAt ?? null) : null,
    docsExpected,
    docsPerSecond,
    chunksPerSecond: perSecond(counters.chunks_seen),
    etaSeconds: left > 0 && docsPerSecond > 0 ? Math.ceil(left / docsPerSecond) : null,
  };
}

function hasCheckpoint(job: Job | null): boolean {
  return job !== null && Object.keys(job.checkpoint).length > 0;
}

/** A run that rests, or waits for its provider, is not slow. */
function secondsAtWork(job: Job | null, { active_ms: activeMs }: RunCheckpoint, now: Date): number {
  if (activeMs > 0) return activeMs / 1000;
  return job?.startedAt ? secondsBetween(job.startedAt, job.finishedAt ?? now) : 0;
}

/** It is due, and neither its worker nor any other has been heard of. A run that waits for its time is not stalled. */
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
