import { pauseJob } from '../../../kernel/jobs/store.ts';
import type { Slice, SliceResult } from '../../../kernel/jobs/types.ts';
import { isSluiceError, type SluiceError } from '../../../lib/errors.ts';
import { checkpointOf, stateOf } from './checkpoint.ts';
import { type EmbeddedGroup, type Group, placeOf, type RunContext, type SliceContext } from './context.ts';
import type { KnowledgeWorkerDeps } from './deps.ts';
import { Gate } from './gate.ts';
import { openRun } from './open-run.ts';
import { discard, type PreparedRun, type RunStash } from './stash.ts';
import { EmbedStep, withChunks } from './steps/embed-step.ts';
import { ProviderWait, Yielded } from './steps/embedding.ts';
import { groupDocuments, groupsAhead, withStorableUris } from './steps/grouping.ts';
import type { InFlight } from './steps/in-flight.ts';
import { commitGroup } from './steps/indexing.ts';
import { LoadAhead } from './steps/load-ahead.ts';
import { loadBatches } from './steps/loading.ts';
import { endReference, isWholeReference } from './steps/reference-end.ts';
import { sweepOn } from './steps/sweep.ts';
import { saveReason } from './store.ts';
import { joinSteps, mapped, splitBefore, workflow } from './workflow.ts';

export interface OrchestratorDeps extends KnowledgeWorkerDeps {
  stash: RunStash;
  inFlight: InFlight;
}

const goOn: SliceResult = { outcome: { type: 'continue' } };
/** How often other runs may delete chunks of one group between lookup and commit. */
const maxLosses = 5;

/** Groups are made ahead of a slice and kept for the next one; embedding and indexing end with the slice. */
const [loading, indexing] = splitBefore(workflow.order, 'embed');

/** How a slice of a run ended. */
type Advance =
  /** All documents of all sources are committed. */
  | { type: 'loaded' }
  /** All that a reference has is embedded, and not committed yet. */
  | { type: 'reference'; embedded: EmbeddedGroup }
  | { type: 'more' }
  | { type: 'wait'; delayMs: number; reason: string }
  | { type: 'budget'; reason: SluiceError };

/** One slice of a run: load, chunk, embed and index until the gate closes. When everything is indexed, sweep. */
export async function advanceRun(deps: OrchestratorDeps, slice: Slice): Promise<SliceResult> {
  const prepared = await prepare(deps, slice);
  const context = contextOf(prepared.run, slice);
  const abort = () => discard(prepared);
  slice.signal.addEventListener('abort', abort, { once: true });
  let isKept = false;
  try {
    const isLoading = prepared.run.checkpoint.stage === 'load';
    const advance: Advance = isLoading ? await load(deps, context, prepared) : { type: 'loaded' };
    context.logger.info(
      { ...placeOf(context.run, workflow.first), ...ratesOf(context), state: advance.type },
      'a slice of a run ended',
    );
    if (advance.type === 'more') {
      isKept = !slice.shouldYield() && !context.gate.isPaused;
      if (isKept) deps.stash.put(prepared);
      return goOn;
    }
    if (advance.type === 'reference') return endReference(context, advance.embedded);
    if (advance.type === 'wait') return waitFor(context, advance);
    if (advance.type === 'budget') return await rest(context, advance.reason);
    return await sweepOn(context);
  } finally {
    context.gate.close();
    slice.signal.removeEventListener('abort', abort);
    if (!isKept) discard(prepared);
  }
}

async function prepare(deps: OrchestratorDeps, slice: Slice): Promise<PreparedRun> {
  const kept = deps.stash.take(slice.job.jobId, checkpointOf(slice.job).step);
  if (kept) return kept;
  const run = await openRun(deps, slice);
  const controller = new AbortController();
  const steps = {
    load: () => loadBatches(run, controller.signal),
    chunk: mapped(withStorableUris, (batches) => groupDocuments(run, batches)),
  };
  const groups = joinSteps(loading, steps, nothing());
  const depth = groupsAhead(run.embedder.limits.callsInFlight);
  return { run, controller, ahead: new LoadAhead(groups, { depth }) };
}

/** The first step reads from sources, and takes nothing. */
async function* nothing(): AsyncGenerator<never> {}

function contextOf(run: RunContext, slice: Slice): SliceContext {
  const { jobId, correlationId } = slice.job;
  return {
    run,
    slice,
    gate: new Gate(slice, { sliceMs: run.deps.sliceMs }),
    // Each line adds its own step, batch and chunk: a key that a child repeats would be in the line twice.
    logger: run.deps.logger.child({ job_id: jobId, kb_id: run.key.kbId, correlation_id: correlationId }),
    startedAtMs: performance.now(),
    activeBeforeMs: run.checkpoint.active_ms,
  };
}

async function load(
  { inFlight }: OrchestratorDeps,
  context: SliceContext,
  { ahead }: PreparedRun,
): Promise<Advance> {
  const { gate, slice } = context;
  const failure = new AbortController();
  const signal = AbortSignal.any([slice.signal, failure.signal]);
  const embedding = new EmbedStep(context, { signal, inFlight });
  let whole: EmbeddedGroup | null = null;
  const steps = {
    embed: mapped(withChunks, (chunked) => embedding.run(chunked)),
    index: (embedded: AsyncIterable<EmbeddedGroup>) => indexGroups(context, embedding, embedded),
  };
  try {
    for await (const indexed of joinSteps(indexing, steps, ahead.until(gate))) whole = indexed.uncommitted;
    if (whole !== null) return { type: 'reference', embedded: whole };
    return ahead.isOver() ? { type: 'loaded' } : { type: 'more' };
  } catch (error) {
    slice.signal.throwIfAborted();
    if (error instanceof ProviderWait) {
      context.logger.warn(
        { ...placeOf(context.run, 'embed'), err: error, delay_ms: error.delayMs },
        'a run waits for its embedder',
      );
      return { type: 'wait', delayMs: error.delayMs, reason: error.message };
    }
    if (error instanceof Yielded) return { type: 'more' };
    if (isSluiceError(error) && error.code === 'budget_exhausted') return { type: 'budget', reason: error };
    throw error;
  } finally {
    gate.close();
    embedding.close();
    // Ends calls whose group can no longer be committed.
    failure.abort(new Error('An earlier group could not be embedded'));
  }
}

async function* indexGroups(
  context: SliceContext,
  embedding: EmbedStep,
  groups: AsyncIterable<EmbeddedGroup>,
): AsyncGenerator<{ group: Group; uncommitted: EmbeddedGroup | null }> {
  for await (const embedded of groups) {
    if (isWholeReference(context, embedded)) {
      yield { group: embedded.group, uncommitted: embedded };
      return;
    }
    await indexGroup(context, embedding, embedded);
    const { batchId: batch, parts } = embedded.group;
    context.logger.debug(
      { step: 'index', batch, chunk: parts.at(-1)?.chunks.at(-1)?.ordinal },
      'a group is committed',
    );
    yield { group: embedded.group, uncommitted: null };
  }
}

async function indexGroup(
  context: SliceContext,
  embedding: EmbedStep,
  embedded: EmbeddedGroup,
): Promise<void> {
  let current = embedded;
  for (let losses = 0; losses <= maxLosses; losses += 1) {
    const lost = await commitGroup(context, current);
    if (lost.length === 0) return embedding.committed(embedded);
    current = await embedding.embedAgain(current, lost);
  }
  throw new Error(`Other runs have deleted chunks of one group more than ${maxLosses} times`);
}

/** Stores why the run waits, so that its status says so; the reason counts while the run waits. */
function waitFor(
  { run }: SliceContext,
  { delayMs, reason }: { delayMs: number; reason: string },
): SliceResult {
  run.checkpoint = { ...run.checkpoint, waiting: reason };
  const { checkpoint } = stateOf(run.checkpoint, run.counters);
  return { outcome: { type: 'wait', delayMs }, checkpoint };
}

/** Pauses the job because its budget is used up, and stores the reason. */
async function rest({ run, slice }: SliceContext, reason: SluiceError): Promise<SliceResult> {
  const { tenantId, jobId } = slice.job;
  const checkpoint = { ...run.checkpoint, budget_from: run.counters.tokens_embedded };
  await slice.transaction(
    async (tx) => {
      await pauseJob(tx, { tenantId, jobId, from: ['running'] });
      await saveReason(tx, slice.job, { code: reason.code, message: reason.message });
    },
    { checkpoint },
  );
  return goOn;
}

function ratesOf({ run, startedAtMs, activeBeforeMs }: SliceContext) {
  const seconds = (activeBeforeMs + performance.now() - startedAtMs) / 1000;
  const { docs_seen, chunks_seen } = run.counters;
  const rate = (count: number) => Math.round((count / seconds) * 10) / 10;
  return { docs_seen, chunks_seen, docs_per_second: rate(docs_seen), chunks_per_second: rate(chunks_seen) };
}
