import type { AirbyteProblem } from '../airbyte/types.ts';

/** What a sync remembers between its slices. */
export interface SyncCheckpoint {
  /** Committed before `POST /jobs`: while it is set, it is unknown whether Airbyte has created a job. */
  triggerStartedAt: string | null;
  /** When the last `POST /jobs` without any response began: its run may still appear. */
  unansweredSince: string | null;
  /** The 409 that the last trigger got although the connection is active: its run may still appear. */
  conflict: Conflict | null;
  /** A job of another kind (reset, refresh, clear) that runs on the connection: the trigger waits for its end. */
  blockedBy: BlockingJob | null;
  run: FollowedRun | null;
  /** Runs of this job that Airbyte reported as failed. */
  failedRuns: string[];
  /** Polls in a row without a response; their budget is time, not retries. */
  pollErrors: number;
  /** Airbyte asked us to wait until then. */
  notBefore: string | null;
  /** Why the sync is waiting; null when it is not. */
  waitingFor: string | null;
  result: SyncResult | null;
}

export type Conflict = Pick<AirbyteProblem, 'code' | 'message'>;

export interface BlockingJob {
  runId: string;
  jobType: string;
  since: string;
}

export interface FollowedRun {
  runId: string;
  /** When we learnt of it: the deadline counts from here. */
  followedSince: string;
  /** True when somebody else triggered it, or the response to our trigger was lost. */
  isAdopted: boolean;
  /** The status that Airbyte last reported. */
  status: string;
}

export interface SyncResult {
  recordsSynced: number | null;
  bytesSynced: number | null;
  durationSeconds: number | null;
  startedAt: string | null;
  endedAt: string | null;
  /** `skipped_active` when there was nothing to do; one of `emptyCodes` when nothing is known to have moved. */
  code: string | null;
  failureReason: string | null;
}

/** Codes of syncs that Airbyte calls a success, though no record is known to have moved. */
export const emptyCodes = ['no_records', 'no_statistics'] as const;
export type EmptyCode = (typeof emptyCodes)[number];

export function isEmptyCode(code: string | null): code is EmptyCode {
  return emptyCodes.some((one) => one === code);
}

const start: SyncCheckpoint = {
  triggerStartedAt: null,
  unansweredSince: null,
  conflict: null,
  blockedBy: null,
  run: null,
  failedRuns: [],
  pollErrors: 0,
  notBefore: null,
  waitingFor: null,
  result: null,
};

export function checkpointOf(checkpoint: Record<string, unknown>): SyncCheckpoint {
  const said = checkpoint as Partial<SyncCheckpoint>;
  // A process that recorded only the start of a trigger may have died before the response.
  const { unansweredSince = said.triggerStartedAt ?? null } = said;
  return { ...start, ...said, unansweredSince };
}

/** Whether the result of every trigger so far is known. */
export function withoutIntent(checkpoint: SyncCheckpoint): SyncCheckpoint {
  return { ...checkpoint, triggerStartedAt: null, unansweredSince: null, conflict: null };
}

/** How long a trigger without a response may still lead to a run; 0 when no run is to be expected any more. */
export function doubtMs(
  { unansweredSince }: SyncCheckpoint,
  { nowMs, lostTriggerMs }: { nowMs: number; lostTriggerMs: number },
): number {
  return unansweredSince === null ? 0 : Math.max(0, Date.parse(unansweredSince) + lostTriggerMs - nowMs);
}

/** In the form that the kernel stores. */
export function kept(checkpoint: SyncCheckpoint): Record<string, unknown> {
  return { ...checkpoint };
}
