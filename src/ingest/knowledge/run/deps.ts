import type { CircuitBreakers } from '../../../kernel/limits/circuit-breaker.ts';
import type { Logger } from '../../../lib/log.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import type { Chunker, ChunkerSettings } from '../chunkers/chunker.ts';
import type { Embedder, EmbedderSettings } from '../embedders/embedder.ts';
import type { VectorEngine } from '../index/vector/engine.ts';
import type { KnowledgeMetrics } from '../metrics.ts';
import type { Source } from '../sources/source.ts';
import type { KnowledgeBase, KnowledgeSource } from '../types.ts';

/** What a run needs of the rest of the house. Everything that differs from kind to kind is given in. */
export interface KnowledgeWorkerDeps {
  db: Database;
  logger: Logger;
  metrics: KnowledgeMetrics;
  breakers: CircuitBreakers;
  engine: VectorEngine;
  embedders: { get(tenantId: string, settings: EmbedderSettings): Embedder | Promise<Embedder> };
  /** Changes when vectors or borders of chunks would. */
  fingerprintOf(embedder: Embedder, chunker: ChunkerSettings): string;
  createChunker(settings: ChunkerSettings): Chunker | Promise<Chunker>;
  /** `referenceId`: only this one of the source `reference`. */
  openSource(
    kb: KnowledgeBase,
    source: KnowledgeSource,
    options: { referenceId: string | null },
  ): Source | Promise<Source>;
  /** A slice that has worked for this long since its first commit ends at the next good place. */
  sliceMs: number;
  /** By the clock, unless somebody wants to look at the waits. */
  wait?: Wait | undefined;
}

export type Wait = (delayMs: number, signal: AbortSignal) => Promise<void>;
