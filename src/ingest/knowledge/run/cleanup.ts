import type { Job, Slice, SliceResult } from '../../../kernel/jobs/types.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { knowledgeErrors } from '../errors.ts';
import { listGenerations, lockGeneration, retireGeneration } from '../index/generation-store.ts';
import { batchSize, dropSomeOf } from '../index/removal.ts';
import { deleteCreated, restoreDocuments } from '../index/visit-store.ts';
import type { Generation, GenerationKey, KbKey } from '../types.ts';
import { checkpointOf, type RunTarget } from './checkpoint.ts';
import { payloadOf } from './open-run.ts';
import { removeFrontier, removeSuperseded } from './steps/sweep.ts';

const goOn: SliceResult = { outcome: { type: 'continue' } };
/** The state of a job that never ran. */
const cleared: SliceResult = { outcome: { type: 'done' }, checkpoint: {}, counters: {}, stage: 'canceled' };

interface Cleanup {
  slice: Slice;
  key: GenerationKey;
  jobId: string;
}

/** Processes one batch in its own transaction; returns whether nothing is left. */
type CleanupStep = (cleanup: Cleanup) => Promise<boolean>;

/** Documents first, so that searches soon find again what they found before. */
const steps: readonly CleanupStep[] = [restore, removeCreated, removeLinks, removeFrontier];

/** Slices of a canceled run: delete what it added and restore what it changed. Each slice can be repeated. */
export async function cleanUpRun({ sliceMs }: { sliceMs: number }, slice: Slice): Promise<SliceResult> {
  const { tenantId, jobId } = slice.job;
  const { target } = checkpointOf(slice.job);
  const key = { tenantId, kbId: payloadOf(slice.job).kbId };
  const generation = target && (await findTarget(slice, key, target));
  if (!generation) return cleared;
  const deadlineMs = performance.now() + sliceMs;
  const isOver = () => slice.shouldYield() || performance.now() > deadlineMs;
  const cleanup = { slice, key: { ...key, generation: generation.generation }, jobId };
  const all = isOwn(generation, jobId) ? [dropping(generation), removeFrontier] : steps;
  for (const step of all) {
    while (!(await step(cleanup))) if (isOver()) return goOn;
  }
  return cleared;
}

/** A generation that this run began and that searches do not use is deleted as a whole. */
function isOwn({ state, builtByJob }: Generation, jobId: string): boolean {
  return state !== 'serving' && builtByJob === jobId;
}

function findTarget(slice: Slice, key: KbKey, { generation }: RunTarget): Promise<Generation | undefined> {
  return slice.transaction(async (tx) => {
    const generations = await listGenerations(tx, key);
    return generations.find((one) => one.generation === generation);
  });
}

function dropping(generation: Generation): CleanupStep {
  return ({ slice }) =>
    slice.transaction(async (tx) => {
      // No other run may continue it from now on.
      if (generation.state === 'building') await retireGeneration(tx, generation);
      return dropSomeOf(tx, generation);
    });
}

async function restore({ slice, key, jobId }: Cleanup): Promise<boolean> {
  const scope = { ...key, jobId, limit: batchSize };
  return (await locked(slice, key, (tx) => restoreDocuments(tx, scope))) < batchSize;
}

async function removeCreated({ slice, key, jobId }: Cleanup): Promise<boolean> {
  const scope = { ...key, jobId, limit: batchSize };
  return (await locked(slice, key, (tx) => deleteCreated(tx, scope))) < batchSize;
}

function removeLinks({ slice, key }: Cleanup): Promise<boolean> {
  return removeSuperseded(slice, key, (tx) => lockGeneration(tx, key));
}

function locked<T>(slice: Slice, key: GenerationKey, work: (tx: Tx) => Promise<T>): Promise<T> {
  return slice.transaction(async (tx) => {
    await lockGeneration(tx, key);
    return work(tx);
  });
}

/** Runs in the transaction that cancels the job: a run that activates its result cannot be undone. */
export async function refuseLateCancel(_tx: Tx, job: Job): Promise<void> {
  if (checkpointOf(job).stage !== 'sweep') return;
  throw knowledgeErrors.raise.run_finishing(
    `Run ${job.jobId} has read everything and is activating its result; it can no longer be canceled` +
      (job.status === 'paused' ? '. It is paused: resume it, and it will soon be completed' : ''),
  );
}
