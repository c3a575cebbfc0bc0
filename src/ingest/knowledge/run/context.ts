import type { Slice } from '../../../kernel/jobs/types.ts';
import type { Logger } from '../../../lib/log.ts';
import type { Chunk, Chunker } from '../chunkers/chunker.ts';
import type { Embedder } from '../embedders/embedder.ts';
import type { KnownRow, UnchangedDocument } from '../index/visit-store.ts';
import type { DocumentBatch, SourceCursor } from '../sources/source.ts';
import type { GenerationKey, KnowledgeBase, KnowledgeCounters, KnowledgeSource } from '../types.ts';
import type { RunCheckpoint, RunTarget } from './checkpoint.ts';
import type { KnowledgeWorkerDeps } from './deps.ts';
import type { Gate } from './gate.ts';
import type { GroupSize } from './steps/group-size.ts';

/** A run as the slices of this process see it. `checkpoint` and `counters` are those of the last commit. */
export interface RunContext {
  readonly deps: KnowledgeWorkerDeps;
  readonly jobId: string;
  /** Only this reference, or everything. */
  readonly referenceId: string | null;
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

/** What lives as long as one slice. */
export interface SliceContext {
  readonly run: RunContext;
  readonly slice: Slice;
  readonly gate: Gate;
  readonly logger: Logger;
  readonly startedAtMs: number;
  /** Of the slices before. */
  readonly activeBeforeMs: number;
}

export interface LoadedBatch {
  source: KnowledgeSource;
  batchId: number;
  batch: DocumentBatch;
  /** What earlier runs know of its documents, by URI; null: nobody has looked yet. */
  known: ReadonlyMap<string, KnownRow> | null;
}

/** A text on its way into the index. Its links carry the revision; the document stands at it once all are in. */
export interface RunDocument {
  uri: string;
  title: string;
  mediaType: string;
  notes: string[];
  contentHash: string;
  etag: string | null;
  lastModified: string | null;
  documentId: string;
  revision: number;
}

export interface GroupPart {
  document: RunDocument;
  chunks: { ordinal: number; chunk: Chunk }[];
  /** Nothing of the document comes after this part. */
  isLast: boolean;
}

/** What is committed together: parts of documents, what is to be noted of others, and where the source stands then. */
export interface Group {
  source: KnowledgeSource;
  /** The batch that is being worked on, whether or not it ends here. */
  batchId: number;
  parts: GroupPart[];
  unchanged: UnchangedDocument[];
  empty: { uri: string; title: string; reason: string }[];
  failed: { uri: string; title: string; code: string; message: string }[];
  gone: string[];
  /** The document of the checkpoint has another text by now, or is not there: what is in of it goes. */
  discardsPartial: boolean;
  /** Batches that end with this group. */
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
  /** By content hash; what was there already is not among them. */
  vectors: Map<string, Float32Array>;
  /** By content hash: chunks that the embedder refuses, each with the reason. */
  refused: Map<string, { code: string; message: string }>;
  tokens: number;
}
