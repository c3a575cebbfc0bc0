import type { Slice } from '../../../kernel/jobs/types.ts';
import type { Logger } from '../../../lib/log.ts';
import type { Chunk, Chunker } from '../chunkers/chunker.ts';
import type { Embedder } from '../embedders/embedder.ts';
import type { IndexedDocument, KnownRow, OwnLabels, UnchangedDocument } from '../index/visit-store.ts';
import type { DocumentBatch, SourceCursor } from '../sources/source.ts';
import type { GenerationKey, KnowledgeBase, KnowledgeCounters, KnowledgeSource } from '../types.ts';
import type { RunCheckpoint, RunTarget } from './checkpoint.ts';
import type { KnowledgeWorkerDeps } from './deps.ts';
import type { Gate } from './gate.ts';
import type { GroupSize } from './steps/group-size.ts';
import type { TaskRecord } from './workflow.ts';

/** A run as the slices of this process see it. `checkpoint` and `counters` are as of the last commit. */
export interface RunContext {
  readonly deps: KnowledgeWorkerDeps;
  readonly jobId: string;
  /** Only this reference; null: everything. */
  readonly referenceId: string | null;
  /** The source of the reference, if the run has looked it up when it was opened. */
  readonly source: KnowledgeSource | null;
  readonly kb: KnowledgeBase;
  readonly key: GenerationKey;
  readonly target: RunTarget;
  readonly embedder: Embedder;
  readonly chunker: Chunker;
  readonly size: GroupSize;
  readonly budget: Budget | null;
  checkpoint: RunCheckpoint;
  counters: KnowledgeCounters;
}

export interface Budget {
  maxTokens: number;
}

export interface SliceContext {
  readonly run: RunContext;
  readonly slice: Slice;
  readonly gate: Gate;
  readonly logger: Logger;
  readonly startedAtMs: number;
  /** Working time of earlier slices. */
  readonly activeBeforeMs: number;
}

export interface LoadedBatch {
  source: KnowledgeSource;
  batchId: number;
  batch: DocumentBatch;
  /** What earlier runs know of its documents, by URI; null: not looked up yet. */
  known: ReadonlyMap<string, KnownRow> | null;
}

/** A text that is being indexed. Its links carry the revision, which the document gets when all links are committed. */
export interface RunDocument
  extends Omit<IndexedDocument, 'state' | 'chunkCount' | 'errorCode' | 'errorText'> {
  contentHash: string;
}

export interface GroupPart {
  document: RunDocument;
  chunks: { ordinal: number; chunk: Chunk }[];
  /** The last part of the document. */
  isLast: boolean;
}

/** What is committed together: parts of documents, notes on other documents, and the position in the source. */
export interface Group {
  source: KnowledgeSource;
  /** The current batch, whether or not it ends with this group. */
  batchId: number;
  parts: GroupPart[];
  unchanged: UnchangedDocument[];
  empty: ({ uri: string; title: string; reason: string } & OwnLabels)[];
  failed: ({ uri: string; title: string; code: string; message: string } & OwnLabels)[];
  gone: string[];
  /** The partial document of the checkpoint has changed or is gone: what is committed of it is deleted. */
  discardsPartial: boolean;
  /** Set if batches end with this group. */
  batch: {
    batchId: number;
    cursor: SourceCursor;
    found: { url: string; depth: number }[];
    visited: string[];
    end: DocumentBatch['end'] | undefined;
  } | null;
}

export interface EmbeddedGroup {
  group: Group;
  /** By content hash, without chunks that were already in the index. */
  vectors: Map<string, Float32Array>;
  /** By content hash: why the embedder refused a chunk. */
  refused: Map<string, { code: string; message: string }>;
  tokens: number;
}

/** Where a run is, for lines of the log: after its last commit. */
export function placeOf(
  { checkpoint }: RunContext,
  step: TaskRecord['step'],
): Required<Omit<TaskRecord, 'job_id' | 'kb_id'>> {
  return { step, batch: checkpoint.last_batch_id, chunk: checkpoint.document?.next_chunk ?? 0 };
}
