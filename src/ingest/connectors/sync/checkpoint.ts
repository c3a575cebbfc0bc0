/** What a sync remembers between its slices. */
export interface SyncCheckpoint {
  /** Committed before `POST /jobs`: as long as it is there, nobody knows whether Airbyte has made a job. */
  triggerStartedAt: string | null;
  /** When the last `POST /jobs` began that got no answer at all: its run may still appear. */
  unansweredSince: string | null;
  run: FollowedRun | null;
  /** Runs of this job that Airbyte reported as failed. */
  failedRuns: string[];
  /** Polls in a row that got no answer; their budget is time, not retries. */
  pollErrors: number;
  /** Airbyte asked for silence until then. */
  notBefore: string | null;
  /** Why nothing happens at the moment; null: something does. */
  waitingFor: string | null;
  result: SyncResult | null;
}

export interface FollowedRun {
  runId: string;
  /** Since when we know of it: the deadline counts from here. */
  followedSince: string;
  /** True: another one triggered it, or the answer to our trigger was lost. */
  isAdopted: boolean;
  /** Airbyte's last word. */
  status: string;
}

export interface SyncResult {
  recordsSynced: number | null;
  bytesSynced: number | null;
  durationSeconds: number | null;
  startedAt: string | null;
  endedAt: string | null;
  /** `skipped_active` when there was nothing to do. */
  code: string | null;
  failureReason: string | null;
}

const start: SyncCheckpoint = {
  triggerStartedAt: null,
  unansweredSince: null,
  run: null,
  failedRuns: [],
  pollErrors: 0,
  notBefore: null,
  waitingFor: null,
  result: null,
};

export function checkpointOf(checkpoint: Record<string, unknown>): SyncCheckpoint {
  const said = checkpoint as Partial<SyncCheckpoint>;
  // Who wrote only that a trigger began may have died before its answer.
  const { unansweredSince = said.triggerStartedAt ?? null } = said;
  return { ...start, ...said, unansweredSince };
}

/** What became of every trigger so far is known. */
export function withoutIntent(checkpoint: SyncCheckpoint): SyncCheckpoint {
  return { ...checkpoint, triggerStartedAt: null, unansweredSince: null };
}

/** For how long a trigger without an answer may still make a run; 0: what is not there by now will not come. */
export function doubtMs(
  { unansweredSince }: SyncCheckpoint,
  { nowMs, lostTriggerMs }: { nowMs: number; lostTriggerMs: number },
): number {
  return unansweredSince === null ? 0 : Math.max(0, Date.parse(unansweredSince) + lostTriggerMs - nowMs);
}

/** As the kernel keeps it. */
export function kept(checkpoint: SyncCheckpoint): Record<string, unknown> {
  return { ...checkpoint };
}
