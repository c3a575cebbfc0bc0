import type { Job } from '../../../kernel/jobs/types.ts';
import type { ChunkerSettings } from '../chunkers/chunker.ts';
import type { EmbedderSettings } from '../embedders/embedder.ts';
import type { SourceCursor } from '../sources/source.ts';
import { counterNames, type KnowledgeCounters, type Language } from '../types.ts';

/** How far a run has come; updated in the transactions that write its chunks. */
export interface RunCheckpoint {
  /** Number of committed batches of all sources. */
  last_batch_id: number;
  /** Null before the first batch is committed. `is_over`: the source has no more batches. */
  cursor: { source_id: string; position: SourceCursor | null; is_over: boolean } | null;
  /** The document of the current batch of which only a part is committed. */
  document: PartialDocument | null;
  /** Number of transactions. */
  step: number;
  /** Null until the run has begun. It keeps the settings of its start: changes apply to the next run. */
  target: RunTarget | null;
  /** Sources that have listed all their documents: documents that were not seen are gone. */
  complete: string[];
  incomplete: { source_id: string; reason: string }[];
  stage: 'load' | 'sweep';
  /** Working time without pauses and waits, for rates. */
  active_ms: number;
  /** Number of documents when the run began, if known. */
  docs_expected: number | null;
  /** Tokens spent when the budget was last used up; resuming grants the budget again from there. */
  budget_from: number;
  /** Why the run waits for its embedder; it means something only while the run waits. */
  waiting: string | null;
}

export interface RunTarget {
  generation: number;
  fingerprint: string;
  embedder: EmbedderSettings;
  chunker: ChunkerSettings;
  /** Absent in checkpoints of versions that knew only English. */
  language?: Language;
}

export interface PartialDocument {
  source_id: string;
  uri: string;
  content_hash: string;
  document_id: string;
  revision: number;
  next_chunk: number;
  /** Its share of the counters, subtracted again if its text changes before it is complete. */
  counted: ChunkCounts;
  /** Why the first refused chunk was refused. */
  failure: { code: string; message: string } | null;
}

export type ChunkCounts = Pick<
  KnowledgeCounters,
  'chunks_seen' | 'chunks_processed' | 'chunks_skipped' | 'chunks_error'
>;

export const noCounts: ChunkCounts = {
  chunks_seen: 0,
  chunks_processed: 0,
  chunks_skipped: 0,
  chunks_error: 0,
};

const start: RunCheckpoint = {
  last_batch_id: 0,
  cursor: null,
  document: null,
  step: 0,
  target: null,
  complete: [],
  incomplete: [],
  stage: 'load',
  active_ms: 0,
  docs_expected: null,
  budget_from: 0,
  waiting: null,
};

const noCounters = Object.fromEntries(counterNames.map((name) => [name, 0])) as KnowledgeCounters;

export function checkpointOf({ checkpoint }: Pick<Job, 'checkpoint'>): RunCheckpoint {
  return { ...structuredClone(start), ...(checkpoint as Partial<RunCheckpoint>) };
}

export function countersOf({ counters }: Pick<Job, 'counters'>): KnowledgeCounters {
  return { ...noCounters, ...counters };
}

/** In the form that the kernel stores. */
export function stateOf(
  checkpoint: RunCheckpoint,
  counters: KnowledgeCounters,
): { checkpoint: Record<string, unknown>; counters: Record<string, number>; stage: string } {
  return { checkpoint: { ...checkpoint }, counters: { ...counters }, stage: checkpoint.stage };
}

export function addCounts(
  counters: KnowledgeCounters,
  more: Partial<KnowledgeCounters>,
  sign: 1 | -1 = 1,
): KnowledgeCounters {
  const sum = { ...counters };
  for (const [name, count] of Object.entries(more)) sum[name as keyof KnowledgeCounters] += sign * count;
  return sum;
}
