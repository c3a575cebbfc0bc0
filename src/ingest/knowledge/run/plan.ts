import type { Chunk, Chunker } from '../chunkers/chunker.ts';
import { cutText } from '../chunkers/cut-text.ts';
import type { Embedder } from '../embedders/embedder.ts';
import { settingsForIndex } from '../embedders/local-models.ts';
import { knowledgeErrors } from '../errors.ts';
import { listPresent } from '../index/chunk-store.ts';
import { listGenerations } from '../index/generation-store.ts';
import { countKnown, listKnown } from '../index/visit-store.ts';
import type { LoadedDocument } from '../sources/source.ts';
import { findKb, listSources } from '../store.ts';
import type { GenerationKey, KbKey, KnowledgeBase, KnowledgeSource } from '../types.ts';
import type { KnowledgeWorkerDeps } from './deps.ts';
import { findFitting } from './generations.ts';
import { findKnownDocuments } from './steps/loading.ts';

/** What a run would do now. `isComplete`: all sources were read completely in time. */
export interface RunPlan {
  documents: { new: number; changed: number; gone: number; unchanged: number };
  chunks: number;
  tokens: number;
  cost: number;
  isComplete: boolean;
  /** The index that searches use has other settings or another model: everything is embedded again. */
  isRebuild: boolean;
}

const defaultMaxMs = 20_000;
const maxSources = 1_000;
/** How many texts are remembered, so that duplicates are counted once. */
const maxRemembered = 1_000_000;

/** Reads the sources as a run would, without calling the embedder. */
export async function planRun(
  deps: KnowledgeWorkerDeps,
  key: KbKey,
  { maxMs = defaultMaxMs }: { maxMs?: number } = {},
): Promise<RunPlan> {
  const planning = await openPlanning(deps, key, maxMs);
  const sources = await deps.db.tenant(key.tenantId, (tx) => listSources(tx, { ...key, limit: maxSources }));
  for (const source of sources) await planning.read(source);
  return planning.plan();
}

async function openPlanning(deps: KnowledgeWorkerDeps, key: KbKey, maxMs: number): Promise<Planning> {
  const { kb, generations } = await deps.db.tenant(key.tenantId, async (tx) => {
    return { kb: await findKb(tx, key), generations: await listGenerations(tx, key) };
  });
  if (kb === null) {
    throw knowledgeErrors.raise.knowledge_base_not_found(`There is no knowledge base ${key.kbId}`);
  }
  const embedder = await deps.embedders.get(kb.tenantId, settingsForIndex(kb.embedder));
  const fingerprint = deps.fingerprintOf(embedder, kb.chunker, kb.language);
  const fitting = findFitting(generations, fingerprint);
  return new Planning({
    deps,
    kb,
    embedder,
    chunker: await deps.createChunker(kb.chunker),
    target: fitting?.generation ?? null,
    signal: AbortSignal.timeout(maxMs),
  });
}

interface PlanningOptions {
  deps: KnowledgeWorkerDeps;
  kb: KnowledgeBase;
  embedder: Embedder;
  chunker: Chunker;
  /** The generation that a run would write to; null: a new one. */
  target: number | null;
  signal: AbortSignal;
}

class Planning {
  readonly #options: PlanningOptions;
  readonly #documents = { new: 0, changed: 0, gone: 0, unchanged: 0 };
  readonly #hashes = new Set<string>();
  #chunks = 0;
  #tokens = 0;
  #isComplete = true;

  constructor(options: PlanningOptions) {
    this.#options = options;
  }

  plan(): RunPlan {
    const cost = (this.#tokens / 1e6) * this.#options.embedder.pricePerMillionTokens;
    const { signal, target, kb } = this.#options;
    return {
      documents: { ...this.#documents },
      chunks: this.#chunks,
      tokens: this.#tokens,
      cost,
      isComplete: this.#isComplete && !signal.aborted,
      isRebuild: target === null && kb.generation > 0,
    };
  }

  async read(source: KnowledgeSource): Promise<void> {
    const { deps, kb, signal } = this.#options;
    if (signal.aborted) return;
    try {
      const opened = await deps.openSource(kb, source, { referenceId: null });
      const context = {
        cursor: null,
        frontier: [],
        findKnown: (uris: readonly string[]) => this.#findKnown(source, uris),
        signal,
      };
      let known = 0;
      for await (const batch of opened.batches(context)) {
        known += await this.#look(source, batch.documents);
        if (signal.aborted) return;
        if (!batch.end) continue;
        if (batch.end.isComplete) await this.#countGone(source, known);
        else this.#isComplete = false;
        return;
      }
      this.#isComplete = false;
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Nothing is known if everything will be embedded again, so that sources load everything. */
  async #findKnown(source: KnowledgeSource, uris: readonly string[]) {
    const { deps, kb, target } = this.#options;
    return target === null
      ? new Map()
      : findKnownDocuments({ deps, key: { ...kb, generation: target } }, source, uris);
  }

  /** Returns how many of these documents were known before. */
  async #look(source: KnowledgeSource, documents: readonly LoadedDocument[]): Promise<number> {
    const { deps, kb } = this.#options;
    const uris = [...new Set(documents.map(({ uri }) => uri))];
    if (uris.length === 0) return 0;
    const place = { ...this.#compared(), sourceId: source.sourceId };
    const rows = await deps.db.tenant(kb.tenantId, (tx) => listKnown(tx, place, uris));
    const hashes = new Map(rows.map(({ uri, contentHash }) => [uri, contentHash]));
    for (const document of documents) await this.#count(document, hashes);
    return rows.length;
  }

  async #count(document: LoadedDocument, known: ReadonlyMap<string, string | null>): Promise<void> {
    const isKnown = known.has(document.uri);
    const isSame =
      document.kind === 'unchanged' ||
      (document.kind === 'text' && this.#options.target !== null && isKnown
        ? known.get(document.uri) === document.contentHash
        : false);
    if (isSame) this.#documents.unchanged += 1;
    else if (document.kind === 'gone') this.#documents.gone += isKnown ? 1 : 0;
    else if (document.kind === 'text') {
      this.#documents[isKnown ? 'changed' : 'new'] += 1;
      await this.#cut(document.text);
    }
  }

  async #cut(text: string): Promise<void> {
    let fresh: Chunk[] = [];
    for await (const chunk of cutText(this.#options.chunker, text)) {
      if (this.#options.signal.aborted) return;
      if (this.#hashes.has(chunk.contentHash)) continue;
      if (this.#hashes.size < maxRemembered) this.#hashes.add(chunk.contentHash);
      fresh.push(chunk);
      if (fresh.length < 256) continue;
      await this.#countMissing(fresh);
      fresh = [];
    }
    await this.#countMissing(fresh);
  }

  async #countMissing(chunks: readonly Chunk[]): Promise<void> {
    const { deps, kb, target } = this.#options;
    const hashes = chunks.map(({ contentHash }) => contentHash);
    const present =
      target === null || hashes.length === 0
        ? []
        : await deps.db.tenant(kb.tenantId, (tx) => listPresent(tx, { ...kb, generation: target }, hashes));
    const there = new Set(present.map(({ contentHash }) => contentHash));
    for (const { contentHash, tokens } of chunks) {
      if (there.has(contentHash)) continue;
      this.#chunks += 1;
      this.#tokens += tokens;
    }
  }

  async #countGone({ sourceId }: KnowledgeSource, seen: number): Promise<void> {
    const { deps, kb } = this.#options;
    const known = await deps.db.tenant(kb.tenantId, (tx) =>
      countKnown(tx, { ...this.#compared(), sourceId }),
    );
    this.#documents.gone += Math.max(0, known - seen);
  }

  /** What "new" and "changed" are compared with: the generation that would be written to, or the serving one. */
  #compared(): GenerationKey {
    const { kb, target } = this.#options;
    return { tenantId: kb.tenantId, kbId: kb.kbId, generation: target ?? kb.generation };
  }
}
