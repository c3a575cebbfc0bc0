import { type AirbyteJob, isTerminal } from '../airbyte/types.ts';
import type { HeldRun } from './run-store.ts';

/** Airbyte's clock may be this much behind ours. */
const skewMs = 30_000;

export interface Candidates {
  /** Newest first. */
  runs: readonly AirbyteJob[];
  /** Since when a trigger of ours may have made a run; null: none can have. */
  since: Date | null;
  /** Runs that other jobs follow or have followed. */
  held: readonly HeldRun[];
  /** Runs that this job has followed to their end. */
  past: readonly string[];
}

export interface FoundRun {
  run: AirbyteJob;
  /** Made since our trigger, so it is what the lost answer was about. */
  isOurs: boolean;
}

/** The newest run that is active, or that may be the one which our trigger made, and that no other job holds. */
export function chooseRun({ runs, since, held, past }: Candidates): FoundRun | null {
  for (const run of runs) {
    if (past.includes(run.runId)) continue;
    const isOurs = since !== null && run.createdAt.getTime() >= since.getTime() - skewMs;
    const holders = held.filter(({ runId }) => runId === run.runId);
    if (!isTerminal(run.status)) {
      // A dead letter has given the run up (its deadline passed, say), and the job that follows it may take it.
      if (holders.every(({ status }) => status === 'dead_letter')) return { run, isOurs };
    } else if (isOurs && holders.length === 0) {
      return { run, isOurs };
    }
  }
  return null;
}
