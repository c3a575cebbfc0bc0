import type { Slice } from '../../../kernel/jobs/types.ts';
import type { Embedder, EmbedderSettings } from '../embedders/embedder.ts';
import { settingsForIndex, settingsOfIndex } from '../embedders/local-models.ts';
import { listGenerations } from '../index/generation-store.ts';
import { findKb } from '../store.ts';
import {
  defaultLanguage,
  type Generation,
  type KbKey,
  type KnowledgeBase,
  type KnowledgeCounters,
  type KnowledgeSource,
} from '../types.ts';
import { checkpointOf, countersOf, type RunCheckpoint, type RunTarget, stateOf } from './checkpoint.ts';
import type { Budget, RunContext } from './context.ts';
import type { KnowledgeWorkerDeps } from './deps.ts';
import { chooseGeneration, findFitting, GenerationGone, kbGone } from './generations.ts';
import { GroupSize } from './steps/group-size.ts';
import { countExpected, openingStatement, type ReferenceOpening, saveReason } from './store.ts';

/** The payload of a run's job. */
export interface RunPayload {
  kbId: string;
  referenceId: string | null;
  budget: { maxTokens?: number; maxCost?: number };
}

const maxLooks = 5;

export function payloadOf({ payload, subjectId }: Slice['job']): RunPayload {
  const { kbId, referenceId, budget } = payload as Partial<RunPayload>;
  return { kbId: kbId ?? subjectId, referenceId: referenceId ?? null, budget: budget ?? {} };
}

/** Opens a run at its checkpoint; a run without one is begun. */
export async function openRun(deps: KnowledgeWorkerDeps, slice: Slice): Promise<RunContext> {
  const begun = (await beginReference(deps, slice)) ?? (await beginOrContinue(deps, slice));
  const { tenantId, jobId } = slice.job;
  const { referenceId, budget } = payloadOf(slice.job);
  const { target, kb } = begun;
  const { kbId } = kb;
  const embedder = await deps.embedders.get(tenantId, settingsOfIndex(target.embedder));
  if (
    deps.fingerprintOf(embedder, target.chunker, target.language ?? defaultLanguage) !== target.fingerprint
  ) {
    throw new GenerationGone(`The embedder of run ${jobId} has changed since the run began`);
  }
  const allowed = budgetOf(budget, embedder);
  return {
    deps,
    jobId,
    referenceId,
    source: begun.source,
    kb,
    key: { tenantId, kbId, generation: target.generation },
    target,
    embedder,
    chunker: await deps.createChunker(target.chunker),
    size: new GroupSize(embedder.limits, { maxTokens: allowed?.maxTokens ?? Number.POSITIVE_INFINITY }),
    budget: allowed,
    checkpoint: begun.checkpoint,
    counters: begun.counters,
  };
}

interface Begun {
  kb: KnowledgeBase;
  checkpoint: RunCheckpoint;
  target: RunTarget;
  counters: KnowledgeCounters;
  source: KnowledgeSource | null;
}

/**
 * A reference for a generation that fits needs nothing but one look: its run is short, so that its target is stored
 * with what it writes. Null: the run has to be begun, or was begun before, like that of a whole knowledge base.
 */
async function beginReference(deps: KnowledgeWorkerDeps, { job }: Slice): Promise<Begun | null> {
  const { tenantId } = job;
  const { kbId, referenceId } = payloadOf(job);
  if (referenceId === null || Object.keys(job.checkpoint).length > 0) return null;
  const context = { role: 'sluice_tenant', tenantId } as const;
  const [row] = await deps.db.statement<ReferenceOpening>(context, openingStatement({ tenantId, kbId }));
  if (row === undefined) throw kbGone({ tenantId, kbId });
  const { generations, sourceId, sourceSettings, sourceCreatedAt: createdAt, ...kb } = row;
  const { settings: embedder, fingerprint } = await chooseEmbedder(deps, kb, generations);
  const fitting = findFitting(generations, fingerprint);
  if (fitting === undefined || sourceId === null) return null;
  const { generation } = fitting;
  const { chunker, language } = kb;
  const target = { generation, fingerprint, embedder, chunker, language };
  const checkpoint = { ...checkpointOf(job), target, docs_expected: 1 };
  const source = {
    tenantId,
    kbId,
    sourceId,
    type: 'reference' as const,
    settings: sourceSettings,
    createdAt,
  };
  return { kb, checkpoint, target, counters: countersOf(job), source };
}

async function beginOrContinue(deps: KnowledgeWorkerDeps, slice: Slice): Promise<Begun> {
  const { tenantId } = slice.job;
  const { kbId } = payloadOf(slice.job);
  const { job, kb } = await slice.transaction(async (tx, fresh) => {
    // The run was resumed, so the reason of its pause no longer applies.
    if (fresh.errorCode === 'budget_exhausted' && fresh.status === 'running')
      await saveReason(tx, fresh, null);
    return { job: fresh, kb: await findKb(tx, { tenantId, kbId }) };
  });
  if (kb === null) throw kbGone({ tenantId, kbId });
  const checkpoint = checkpointOf(job);
  const begun = checkpoint.target ? { checkpoint, target: checkpoint.target } : await begin(deps, slice, kb);
  return { ...begun, kb, counters: countersOf(job), source: null };
}

async function begin(
  deps: KnowledgeWorkerDeps,
  slice: Slice,
  kb: KnowledgeBase,
): Promise<{ checkpoint: RunCheckpoint; target: RunTarget }> {
  const { jobId } = slice.job;
  const isReference = payloadOf(slice.job).referenceId !== null;
  let current = kb;
  for (let look = 1; look <= maxLooks; look += 1) {
    const generations = isReference ? await deps.db.tenant(kb.tenantId, (tx) => listGenerations(tx, kb)) : [];
    const choice = { kb: current, jobId, isReference, ...(await chooseEmbedder(deps, current, generations)) };
    const begun = await slice.transaction(
      async (tx, job) => {
        const target = await chooseGeneration(tx, choice);
        const counters = countersOf(job);
        if (target === null) return null;
        const docs_expected = isReference ? 1 : await countExpected(tx, current);
        return { checkpoint: { ...checkpointOf(job), target, docs_expected }, target, counters };
      },
      (made) => (made ? stateOf(made.checkpoint, made.counters) : {}),
    );
    if (begun) return begun;
    current = await reread(deps, current);
  }
  throw new Error(`The settings of knowledge base ${kb.kbId} change too fast to start a run with them`);
}

/**
 * A whole run builds the index anew when the built-in model is another one than before. One reference cannot, and goes
 * on with the model of the index that is there.
 */
async function chooseEmbedder(
  deps: KnowledgeWorkerDeps,
  kb: KnowledgeBase,
  generations: readonly Pick<Generation, 'fingerprint' | 'state'>[],
): Promise<{ settings: EmbedderSettings; embedder: Embedder; fingerprint: string }> {
  const choices = await Promise.all(
    [settingsForIndex(kb.embedder), settingsOfIndex(kb.embedder)].map(async (settings) => {
      const embedder = await deps.embedders.get(kb.tenantId, settings);
      const fingerprint = deps.fingerprintOf(embedder, kb.chunker, kb.language);
      return { settings, embedder, fingerprint };
    }),
  );
  const chosen = choices.find(({ fingerprint }) => findFitting(generations, fingerprint)) ?? choices[0];
  if (chosen === undefined) throw new Error('A knowledge base has no embedder');
  return chosen;
}

async function reread({ db }: KnowledgeWorkerDeps, key: KbKey): Promise<KnowledgeBase> {
  const kb = await db.tenant(key.tenantId, (tx) => findKb(tx, key));
  if (kb === null) throw kbGone(key);
  return kb;
}

/** The stricter of the two limits; a free embedder cannot use up money. */
function budgetOf({ maxTokens, maxCost }: RunPayload['budget'], embedder: Embedder): Budget | null {
  const { pricePerMillionTokens: price } = embedder;
  const byCost =
    maxCost === undefined || price <= 0 ? Number.POSITIVE_INFINITY : Math.floor((maxCost / price) * 1e6);
  const most = Math.min(maxTokens ?? Number.POSITIVE_INFINITY, byCost);
  return Number.isFinite(most) ? { maxTokens: most } : null;
}
