import type { Ground } from '../../../kernel/house/house.ts';
import type { Chunker, ChunkerSettings } from '../chunkers/chunker.ts';
import type { Embedder, EmbedderSettings } from '../embedders/embedder.ts';
import type { VectorEngine } from '../index/vector/engine.ts';
import type { KnowledgeMetrics } from '../metrics.ts';
import type { Source } from '../sources/source.ts';
import type { KnowledgeBase, KnowledgeSource, Language } from '../types.ts';

/** What a run needs of the rest of the house. */
export interface KnowledgeWorkerDeps extends Pick<Ground, 'db' | 'logger' | 'breakers'> {
  metrics: KnowledgeMetrics;
  engine: VectorEngine;
  embedders: { get(tenantId: string, settings: EmbedderSettings): Embedder | Promise<Embedder> };
  /** Changes whenever vectors or chunk borders would. */
  fingerprintOf(embedder: Embedder, chunker: ChunkerSettings, language: Language): string;
  createChunker(settings: ChunkerSettings): Chunker | Promise<Chunker>;
  /** `referenceId`: only this reference. */
  openSource(
    kb: KnowledgeBase,
    source: KnowledgeSource,
    options: { referenceId: string | null },
  ): Source | Promise<Source>;
  /** How long a slice works after its first commit. */
  sliceMs: number;
  /** For tests; default: the clock. */
  wait?: Wait | undefined;
}

export type Wait = (delayMs: number, signal: AbortSignal) => Promise<void>;
