import type { Slice, SliceResult } from '../../kernel/jobs/types.ts';
import { callAirbyte } from './sync/airbyte-calls.ts';
import { checkpointOf } from './sync/checkpoint.ts';
import type { SyncWorkerDeps } from './sync/deps.ts';
import { isOverdue, overdue, pollRun } from './sync/poll.ts';
import { triggerSync } from './sync/trigger.ts';

/** One slice of a sync: a trigger, or one poll of the run. Between slices nobody holds a lease. */
export async function advanceSync(deps: SyncWorkerDeps, slice: Slice): Promise<SliceResult> {
  return counted(deps, slice, await advance(deps, slice));
}

async function advance(deps: SyncWorkerDeps, slice: Slice): Promise<SliceResult> {
  const { runId, checkpoint } = slice.job;
  if (runId === null) return callAirbyte(deps, slice, (calls) => triggerSync(deps, slice, calls));
  const before = checkpointOf(checkpoint);
  const silentMs = before.notBefore === null ? 0 : Date.parse(before.notBefore) - deps.clock.nowMs();
  // A webhook or a person may have brought the poll forward; Airbyte's Retry-After stands.
  if (silentMs > 0) return { outcome: { type: 'wait', delayMs: silentMs } };
  const result = await callAirbyte(deps, slice, (calls) => pollRun(deps, slice, { calls, runId }));
  const after = checkpointOf(result.checkpoint ?? checkpoint);
  const isStopped = result.outcome.type === 'wait' && after.waitingFor !== null;
  return isStopped && isOverdue(deps, after) ? { outcome: overdue(deps, runId) } : result;
}

function wordOf(code: unknown): 'skipped' | 'success' {
  return code === 'skipped_active' ? 'skipped' : 'success';
}

/** Ended syncs are counted by connector, once their end is committed. */
function counted(deps: SyncWorkerDeps, slice: Slice, result: SliceResult): SliceResult {
  const { outcome } = result;
  if (outcome.type !== 'done' && outcome.type !== 'dead') return result;
  const word = outcome.type === 'dead' ? 'dead_letter' : wordOf(outcome.result?.code);
  const { tenantId, subjectId } = slice.job;
  return {
    ...result,
    effects: async (tx) => {
      await result.effects?.(tx);
      tx.afterCommit(() => deps.metrics.syncs.inc({ tenant: tenantId, connector: subjectId, outcome: word }));
    },
  };
}
