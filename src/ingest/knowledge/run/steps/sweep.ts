import { deleteFrontier } from '../../../../kernel/crawl/frontier-store.ts';
import type { Slice, SliceResult } from '../../../../kernel/jobs/types.ts';
import type { Tx } from '../../../../lib/postgres/db.ts';
import { listSuperseded } from '../../index/chunk-store.ts';
import { listGenerations } from '../../index/generation-store.ts';
import { batchSize, dropRevisions, dropSomeLinks, dropSomeOf } from '../../index/removal.ts';
import { adoptDocuments, deleteGone } from '../../index/visit-store.ts';
import type { GenerationKey } from '../../types.ts';
import { addCounts, checkpointOf, countersOf, stateOf } from '../checkpoint.ts';
import { placeOf, type SliceContext } from '../context.ts';
import { assertReplaceable, holdGeneration, switchOver } from '../generations.ts';
import { findPredecessor, listBusyJobs } from '../store.ts';

const maxRevisions = 10_000;

/** Processes one batch; returns whether the step is done. */
type SweepStep = (context: SliceContext) => Promise<boolean>;

/**
 * The end of a run, when everything is indexed: deletes what is gone or was replaced, and activates the new generation.
 * Each step can be repeated, so a slice may end anywhere.
 */
const steps: readonly SweepStep[] = [
  removeGone,
  removeReplaced,
  adopt,
  removeFrontier,
  serve,
  removeOtherGenerations,
];

export async function sweepOn(context: SliceContext): Promise<SliceResult> {
  const { run, slice } = context;
  if (run.checkpoint.stage === 'load') await enterSweep(context);
  const deadlineMs = performance.now() + run.deps.sliceMs;
  for (const step of steps) {
    while (!(await step(context))) {
      if (slice.shouldYield() || performance.now() > deadlineMs) return { outcome: { type: 'continue' } };
    }
  }
  const { generation } = run.key;
  context.logger.info({ ...placeOf(run, 'sweep'), generation, counters: run.counters }, 'a run is complete');
  return { outcome: { type: 'done', result: { kb_id: run.key.kbId, generation } } };
}

/** From here on the run cannot be canceled, because the old state can no longer be restored. */
async function enterSweep({ run, slice }: SliceContext): Promise<void> {
  const entered = await slice.transaction(
    async (tx, job) => {
      const state = await holdGeneration(tx, run);
      if (state === 'building' && run.referenceId === null) await assertReplaceable(tx, run);
      const before = checkpointOf(job);
      let counters = countersOf(job);
      // The source of the partial document was deleted before the document was complete.
      if (before.document) {
        const { document_id: documentId, revision, counted } = before.document;
        await dropRevisions(tx, run.key, [{ documentId, revision }]);
        counters = addCounts(counters, counted, -1);
      }
      const checkpoint = { ...before, document: null, stage: 'sweep' as const, step: before.step + 1 };
      return { checkpoint, counters };
    },
    ({ checkpoint, counters }) => stateOf(checkpoint, counters),
  );
  run.checkpoint = entered.checkpoint;
  run.counters = entered.counters;
}

async function removeGone({ run, slice }: SliceContext): Promise<boolean> {
  if (run.referenceId !== null) return true;
  const before = run.counters;
  const { deleted, counters } = await slice.transaction(
    async (tx, job) => {
      await holdGeneration(tx, run);
      const scope = { ...run.key, jobId: run.jobId, completeSources: run.checkpoint.complete };
      const startedAt = job.startedAt ?? job.createdAt;
      const gone = await deleteGone(tx, { ...scope, startedAt, limit: batchSize });
      // Documents that the source itself reported as gone were counted before.
      return { deleted: gone.deleted, counters: addCounts(countersOf(job), { docs_gone: gone.unseen }) };
    },
    ({ counters }) => stateOf(run.checkpoint, counters),
  );
  run.counters = counters;
  run.deps.metrics.committed(before, counters, run.embedder.provider);
  return deleted < batchSize;
}

async function removeReplaced({ run, slice }: SliceContext): Promise<boolean> {
  const { docs_seen, docs_unchanged, docs_gone } = run.counters;
  if (docs_seen === docs_unchanged && docs_gone === 0) {
    // Looking through all links costs more than the rest of a run that found everything as it was.
    const before = await slice.transaction((tx) => findPredecessor(tx, { ...run.key, jobId: run.jobId }));
    if (before?.status === 'success') return true;
  }
  return removeSuperseded(slice, run.key, (tx) => holdGeneration(tx, run));
}

/** Deletes links of older texts and of documents that are gone, and chunks without links. */
export async function removeSuperseded(
  slice: Slice,
  key: GenerationKey,
  lock: (tx: Tx) => Promise<unknown>,
): Promise<boolean> {
  const revisions = await slice.transaction(async (tx) => {
    const busyJobs = await listBusyJobs(tx, { ...key, exceptJobId: slice.job.jobId });
    return listSuperseded(tx, { ...key, busyJobs, limit: maxRevisions });
  });
  if (revisions.length === 0) return true;
  for (;;) {
    const removed = await slice.transaction(async (tx) => {
      await lock(tx);
      return dropSomeLinks(tx, key, revisions);
    });
    if (removed < batchSize) return revisions.length < maxRevisions;
    if (slice.shouldYield()) return false;
  }
}

async function adopt({ run, slice }: SliceContext): Promise<boolean> {
  const scope = { ...run.key, jobId: run.jobId, limit: batchSize };
  return (await slice.transaction((tx) => adoptDocuments(tx, scope))) < batchSize;
}

export async function removeFrontier({ slice }: { slice: Slice }): Promise<boolean> {
  const scope = { ...slice.job, limit: batchSize };
  return (await slice.transaction((tx) => deleteFrontier(tx, scope))) < batchSize;
}

async function serve({ run, slice }: SliceContext): Promise<boolean> {
  if (run.referenceId === null) await slice.transaction((tx) => switchOver(tx, run));
  return true;
}

/** Deletes the generation that served before, and those that were never finished. */
async function removeOtherGenerations({ run, slice }: SliceContext): Promise<boolean> {
  if (run.referenceId !== null) return true;
  return slice.transaction(async (tx) => {
    const generations = await listGenerations(tx, run.key);
    const other = generations.find(({ state, generation }) => {
      return state !== 'serving' && generation !== run.key.generation;
    });
    if (other === undefined) return true;
    await dropSomeOf(tx, other);
    return false;
  });
}
