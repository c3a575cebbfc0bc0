import { unexpectedOutcome } from '../../kernel/jobs/run/slice-runner.ts';
import type { Job, Outcome, Slice, SliceResult } from '../../kernel/jobs/types.ts';
import { isSluiceError } from '../../lib/errors.ts';
import { GenerationGone } from './run/generations.ts';
import { advanceRun, type OrchestratorDeps } from './run/orchestrator.ts';

const conflictWaitMs = 1_000;

/** One slice of a run. */
export async function advanceKnowledge(deps: OrchestratorDeps, slice: Slice): Promise<SliceResult> {
  try {
    return await advanceRun(deps, slice);
  } catch (error) {
    slice.signal.throwIfAborted();
    if (!(error instanceof GenerationGone)) throw error;
    const { jobId } = slice.job;
    deps.logger.info({ err: error, job_id: jobId }, 'a run starts again in another generation');
    return { outcome: { type: 'continue' }, checkpoint: {}, counters: {} };
  }
}

/** Errors that need a person end the run; unexpected ones are retried. */
export function outcomeOf(error: unknown, job: Job): Outcome {
  // Of a reference whose only transaction found it out: nothing of its run is stored, so that it begins anew.
  if (error instanceof GenerationGone) return { type: 'continue' };
  if (isSluiceError(error)) {
    if (error.code === 'write_conflict') return { type: 'wait', delayMs: conflictWaitMs };
    const isForPeople = ['invalid', 'unauthenticated', 'forbidden', 'not_found', 'conflict'].includes(
      error.kind,
    );
    if (isForPeople) {
      return { type: 'dead', failure: { code: error.code, message: error.message, class: 'permanent' } };
    }
  }
  return unexpectedOutcome(error, job);
}
