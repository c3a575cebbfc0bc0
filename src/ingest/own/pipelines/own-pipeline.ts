import type { SeamHook } from '../../../kernel/house/seams.ts';
import type { Outcome, Slice, SliceResult, SliceState } from '../../../kernel/jobs/types.ts';
import { asJson } from '../definitions/json.ts';
import { withEffects } from '../effects.ts';
import { ownErrors } from '../errors.ts';
import type {
  EffectsTx,
  OwnJob,
  OwnSlice,
  OwnSliceResult,
  PipelineDefinition,
  Progress,
  Remembered,
} from '../types.ts';

/** Where the result of a job is kept: beside its checkpoint, so that it comes and goes with it. */
export const resultKey = '$result';

const maxCheckpointBytes = 512 * 1024;
const maxEventBytes = 8 * 1024;
const usualWaitMs = 1_000;

/** One slice of a pipeline that somebody has defined: of its work, or of its cleanup. */
export async function runSlice(
  definition: PipelineDefinition,
  slice: Slice,
  { input, work, seams }: { input: unknown; work: PipelineDefinition['advance']; seams: SeamHook },
): Promise<SliceResult> {
  const { effects, ...result } = resultFor(definition, slice, await work(sliceFor(slice, input)));
  if (!effects) return result;
  return {
    ...result,
    effects: async (tx) => {
      seams('before-effects', slice.job);
      tx.afterCommit(() => seams('after-commit', slice.job));
      await effects(tx);
      seams('after-effects', slice.job);
    },
  };
}

/** The job as its own code sees it. */
export function ownJob(job: Slice['job'], input: unknown): OwnJob<unknown> {
  const { jobId, tenantId, subjectId, counters, retryCount } = job;
  const { [resultKey]: _result, ...checkpoint } = job.checkpoint;
  return { jobId, tenantId, subjectId, input, checkpoint, counters, retries: retryCount };
}

function sliceFor(slice: Slice, input: unknown): OwnSlice<unknown> {
  const job = ownJob(slice.job, input);
  return {
    job,
    signal: slice.signal,
    shouldYield: () => slice.shouldYield(),
    assertHeld: () => slice.assertHeld(),
    transaction: <T>(
      work: (tx: EffectsTx) => Promise<T>,
      progress?: Progress | ((result: T) => Progress),
    ) => {
      if (progress === undefined) return slice.transaction((tx) => withEffects(tx, work));
      const state = (result: T) => stateFor(typeof progress === 'function' ? progress(result) : progress);
      return slice.transaction((tx) => withEffects(tx, work), state);
    },
  };
}

function stateFor({ checkpoint, counters }: Progress, result?: unknown): SliceState {
  const kept: Remembered | undefined =
    result === undefined ? checkpoint : { ...checkpoint, [resultKey]: result };
  return {
    ...(kept && {
      checkpoint: asJson(kept, { what: 'The checkpoint', maxBytes: maxCheckpointBytes }),
    }),
    ...(counters && { counters: asJson(counters, { what: 'The counters', maxBytes: maxEventBytes }) }),
  };
}

function resultFor(definition: PipelineDefinition, slice: Slice, given: OwnSliceResult): SliceResult {
  const outcome = given?.outcome;
  if (!['done', 'continue', 'wait'].includes(outcome?.type)) {
    throw ownErrors.raise.definition_invalid(
      `A slice of ${definition.name} returned no outcome. Allowed: { outcome: { type: 'done' | 'continue' | 'wait' } }`,
    );
  }
  const { checkpoint = slice.job.checkpoint } = given;
  const isDone = outcome.type === 'done' && outcome.result !== undefined;
  const { effects } = given;
  return {
    outcome: kernelOutcome(outcome),
    ...(isDone ? stateFor({ ...given, checkpoint }, asJson(outcome.result, resultLimit)) : stateFor(given)),
    ...(effects && {
      effects: async (tx) => void (await withEffects(tx, async (open) => effects.call(given, open))),
    }),
  };
}

const resultLimit = { what: 'The result', maxBytes: maxCheckpointBytes };

export function kernelOutcome({ type, delayMs = usualWaitMs, result }: OwnSliceResult['outcome']): Outcome {
  if (type === 'continue') return { type };
  if (type === 'wait') return { type, delayMs: Math.max(0, Math.round(Number(delayMs) || 0)) };
  const isShort = result !== undefined && JSON.stringify(result).length <= maxEventBytes;
  // Events and webhooks carry it along where it is short.
  return isShort ? { type, result: { result } } : { type };
}
