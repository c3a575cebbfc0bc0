import type { Tx } from '../../../lib/postgres/db.ts';
import type { Embedder, EmbedderSettings } from '../embedders/embedder.ts';
import { knowledgeFailures } from '../errors.ts';
import {
  countUnseen,
  heldGeneration,
  insertGeneration,
  listGenerations,
  lockGeneration,
  retireGeneration,
  serveGeneration,
} from '../index/generation-store.ts';
import { lockKb } from '../store.ts';
import type { Generation, KbKey, KnowledgeBase } from '../types.ts';
import type { RunTarget } from './checkpoint.ts';
import type { RunContext } from './context.ts';

/** Another run has activated a newer generation: this run has to start again. */
export class GenerationGone extends Error {}

/** At the start of each writing transaction: locks knowledge base and generation so that neither disappears. */
export async function holdGeneration(
  tx: Tx,
  { key }: Pick<RunContext, 'key'>,
): Promise<'building' | 'serving'> {
  const held = await heldGeneration(tx, key);
  if (held === null) throw kbGone(key);
  if (held !== 'building' && held !== 'serving') {
    throw new GenerationGone(`Generation ${key.generation} of ${key.kbId} is no longer written to`);
  }
  return held;
}

export function kbGone({ kbId }: KbKey): Error {
  return knowledgeFailures.raise.kb_gone(`Knowledge base ${kbId} no longer exists`);
}

export interface Choice {
  kb: KnowledgeBase;
  /** The embedder's settings as the index stores them. */
  settings: EmbedderSettings;
  embedder: Embedder;
  fingerprint: string;
  jobId: string;
  isReference: boolean;
}

/**
 * Chooses the generation that a run writes to: the serving one if it has the same settings, otherwise one that is built
 * beside it. Locks the knowledge base. Null if its settings have changed since they were read.
 */
export async function chooseGeneration(tx: Tx, choice: Choice): Promise<RunTarget | null> {
  const { kb, settings, fingerprint } = choice;
  const fresh = await lockKb(tx, kb);
  if (fresh === null) throw kbGone(kb);
  if (settingsOf(fresh) !== settingsOf(kb)) return null;
  const generations = await listGenerations(tx, kb);
  const usable = generations.filter(({ state }) => state !== 'retired');
  const chosen = findFitting(usable, fingerprint) ?? (await makeGeneration(tx, choice, usable));
  return {
    generation: chosen.generation,
    fingerprint,
    embedder: settings,
    chunker: kb.chunker,
    language: kb.language,
  };
}

/** The generation with these settings; a serving one is preferred to one that is being built. */
export function findFitting<Known extends Pick<Generation, 'fingerprint' | 'state'>>(
  generations: readonly Known[],
  fingerprint: string,
): Known | undefined {
  const fitting = generations.filter((one) => one.state !== 'retired' && one.fingerprint === fingerprint);
  return fitting.find(({ state }) => state === 'serving') ?? fitting[0];
}

async function makeGeneration(tx: Tx, choice: Choice, others: readonly Generation[]): Promise<Generation> {
  const { kb, settings, embedder, fingerprint, jobId, isReference } = choice;
  if (isReference && others.length > 0) {
    throw knowledgeFailures.raise.settings_changed(
      `Knowledge base ${kb.kbId} has other settings than its index, and one reference cannot build a new index`,
    );
  }
  // A generation with yet other settings is no longer needed.
  for (const other of others) if (other.state === 'building') await retireGeneration(tx, other);
  const made = await insertGeneration(tx, {
    tenantId: kb.tenantId,
    kbId: kb.kbId,
    fingerprint,
    dimensions: embedder.dimensions,
    embedder: settings,
    language: kb.language,
    state: 'building',
    builtByJob: jobId,
  });
  if (isReference) await serveGeneration(tx, made);
  return made;
}

function settingsOf({ chunker, embedder, language }: KnowledgeBase): string {
  return JSON.stringify([chunker, embedder, language]);
}

/**
 * Throws if activating the new generation would lose documents that searches find now: those of an incomplete source,
 * or all of them because nothing could be read.
 */
export async function assertReplaceable(tx: Tx, run: RunContext): Promise<void> {
  const { key, checkpoint, counters } = run;
  const generations = await listGenerations(tx, key);
  const serving = generations.find(({ state }) => state === 'serving');
  if (serving === undefined || serving.generation === key.generation) return;
  const unseen = await countUnseen(tx, key, {
    serving: serving.generation,
    building: key.generation,
    completeSources: checkpoint.complete,
  });
  const reasons = checkpoint.incomplete.map(({ source_id, reason }) => `${source_id}: ${reason}`);
  if (unseen > 0) {
    throw knowledgeFailures.raise.generation_incomplete(
      `This run did not see ${unseen} documents that searches find now (${reasons.join('; ')})`,
    );
  }
  const indexed = counters.docs_seen - counters.docs_error - counters.docs_empty;
  if (indexed === 0 && counters.docs_error > 0) {
    throw knowledgeFailures.raise.generation_incomplete(
      `None of ${counters.docs_error} documents could be read; the list of documents has the reasons`,
    );
  }
}

/** Searches use the run's generation from the end of this transaction on. */
export async function switchOver(tx: Tx, { key }: RunContext): Promise<void> {
  if ((await lockKb(tx, key)) === null) throw kbGone(key);
  const generation = await lockGeneration(tx, key);
  if (generation?.state === 'building') await serveGeneration(tx, generation);
}
