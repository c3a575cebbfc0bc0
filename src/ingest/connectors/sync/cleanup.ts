import type { Slice, SliceResult } from '../../../kernel/jobs/types.ts';
import { type AirbyteJob, isTerminal } from '../airbyte/types.ts';
import { type AirbyteCalls, callAirbyte, logFields, waiting } from './airbyte-calls.ts';
import { checkpointOf, doubtMs, kept, type SyncCheckpoint, withoutIntent } from './checkpoint.ts';
import type { SyncWorkerDeps } from './deps.ts';
import { listHeldRuns } from './run-store.ts';
import { chooseRun } from './runs.ts';

/** How long a canceled sync tries to end its run in Airbyte, or to see it ended. */
const limitMs = 3_600_000;
const done: SliceResult = { outcome: { type: 'done' } };

/**
 * Slices of a canceled sync: its run is canceled in Airbyte too. `DELETE /jobs/{id}` cancels whatever runs on the
 * connection, so it is sent only while the active run is known to be ours.
 */
export async function cleanUpSync(deps: SyncWorkerDeps, slice: Slice): Promise<SliceResult> {
  const { job } = slice;
  const checkpoint = checkpointOf(job.checkpoint);
  if (job.runId === null && checkpoint.triggerStartedAt === null) return done;
  const sinceMs = deps.clock.nowMs() - (job.finishedAt?.getTime() ?? 0);
  if (sinceMs > limitMs) {
    deps.logger.warn(
      { ...logFields(job), run_id: job.runId },
      'a canceled sync could not be ended in Airbyte',
    );
    return done;
  }
  return callAirbyte(deps, slice, (calls) => endRun(deps, slice, { calls, checkpoint }));
}

async function endRun(
  deps: SyncWorkerDeps,
  slice: Slice,
  { calls, checkpoint }: { calls: AirbyteCalls; checkpoint: SyncCheckpoint },
): Promise<SliceResult> {
  const connectionId = String(slice.job.payload.airbyteConnectionId);
  const { pollMs, lostTriggerMs } = deps.policy;
  const again = waiting(slice, { waitingFor: 'canceling', delayMs: pollMs });
  const answer = await calls.ask('list_jobs', (client, options) =>
    client.listJobs({ connectionId }, options),
  );
  if (answer.type !== 'ok') {
    // A deleted connection has no run.
    return answer.problem.class === 'permanent' ? done : again;
  }
  const active = answer.value.find((run) => !isTerminal(run.status));
  const ours = await findOurs(deps, slice, { runs: answer.value, checkpoint });
  if (active === undefined || active.runId !== ours) {
    // A trigger without a response may still lead to a run, and nothing else would end it.
    const leftMs = doubtMs(checkpoint, { nowMs: deps.clock.nowMs(), lostTriggerMs });
    if (leftMs === 0) return done;
    return waiting(slice, { waitingFor: 'canceling', delayMs: Math.min(pollMs, leftMs) });
  }
  await calls.ask('cancel', (client, options) => client.cancelJob(active.runId, options));
  // Kept, so that the next slice need not search for our run again.
  const known = kept({ ...withoutIntent(checkpoint), waitingFor: 'canceling' });
  return { ...again, runId: active.runId, checkpoint: known };
}

/** The run that we follow, or the one that our trigger created without our knowing. */
async function findOurs(
  deps: SyncWorkerDeps,
  { job }: Slice,
  { runs, checkpoint }: { runs: AirbyteJob[]; checkpoint: SyncCheckpoint },
): Promise<string | null> {
  if (job.runId !== null) return job.runId;
  const since = checkpoint.triggerStartedAt === null ? null : new Date(checkpoint.triggerStartedAt);
  const wanted = { runIds: runs.map(({ runId }) => runId), seeker: job };
  const held = await deps.db.kernel((tx) => listHeldRuns(tx, wanted));
  const found = chooseRun({ runs, since, held, past: checkpoint.failedRuns });
  return found?.isOurs ? found.run.runId : null;
}
