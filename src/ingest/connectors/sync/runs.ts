import { type AirbyteJob, isSync, isTerminal } from '../airbyte/types.ts';
import type { HeldRun } from './run-store.ts';

/** Airbyte's clock may be this much behind ours. */
const skewMs = 30_000;

export interface Candidates {
  /** Newest first. */
  runs: readonly AirbyteJob[];
  /** Since when our trigger may have created a run; null when it cannot have. */
  since: Date | null;
  /** Runs that other jobs follow or have followed. */
  held: readonly HeldRun[];
  /** Runs that this job has followed to their end. */
  past: readonly string[];
}

export interface FoundRun {
  run: AirbyteJob;
  /** Created since our trigger, so the lost response was about it. */
  isOurs: boolean;
}

/** Whether it was created since our trigger. */
export function mayBeOurs({ createdAt }: Pick<AirbyteJob, 'createdAt'>, since: Date): boolean {
  return createdAt.getTime() >= since.getTime() - skewMs;
}

/** The newest run that no other job holds and that is active or may have been created by our trigger. */
export function chooseRun({ runs, since, held, past }: Candidates): FoundRun | null {
  for (const run of runs) {
    if (!isSync(run)) continue;
    if (past.includes(run.runId)) continue;
    const isOurs = since !== null && mayBeOurs(run, since);
    const holders = held.filter(({ runId }) => runId === run.runId);
    if (!isTerminal(run.status)) {
      // A dead letter has given the run up, for example at its deadline, so the next job may take it.
      if (holders.every(({ status }) => status === 'dead_letter')) return { run, isOurs };
    } else if (isOurs && holders.length === 0) {
      return { run, isOurs };
    }
  }
  return null;
}
