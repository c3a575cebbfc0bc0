import type { ChunkerSettings } from './chunkers/chunker.ts';
import type { EmbedderSettings } from './embedders/embedder.ts';

export const pipelineName = 'knowledge';

/** The words of this house for the state of a run. */
export const runStatuses = ['not_started', 'running', 'paused', 'completed', 'failed', 'canceled'] as const;
export type RunStatus = (typeof runStatuses)[number];

export interface KbKey {
  tenantId: string;
  kbId: string;
}

export interface KnowledgeBase extends KbKey {
  name: string;
  chunker: ChunkerSettings;
  embedder: EmbedderSettings;
  /** The generation that searches are answered from; 0 before the first run has ended. */
  generation: number;
  createdBy: string;
  createdAt: Date;
  updatedAt: Date;
}

export const sourceTypes = [
  'files',
  'markdown',
  'text',
  'html',
  'folder',
  'website',
  'youtube',
  'reference',
] as const;
export type SourceType = (typeof sourceTypes)[number];

/** `settings` are those of its type, checked when it was made. */
export interface KnowledgeSource extends KbKey {
  sourceId: string;
  type: SourceType;
  settings: Record<string, unknown>;
  createdAt: Date;
}

/** A file that was added by hand; its bytes are the stored file `fileId`. */
export interface KnowledgeFile extends KbKey {
  fileId: string;
  name: string;
  mediaType: string;
  sizeBytes: number;
  sha256: string;
  /** The place that it was sent from, in the words of whoever sent it; null: nobody said. */
  origin: string | null;
  createdBy: string;
  createdAt: Date;
}

export const generationStates = ['building', 'serving', 'retired'] as const;
export type GenerationState = (typeof generationStates)[number];

export interface GenerationKey extends KbKey {
  generation: number;
}

/** Everything that was cut and embedded in one way. */
export interface Generation extends KbKey {
  generation: number;
  fingerprint: string;
  dimensions: number;
  embedder: EmbedderSettings;
  state: GenerationState;
  builtByJob: string;
}

/** `changed` and `new` are what a run makes of a document on its way; these are what it rests in. */
export const documentStates = ['indexed', 'empty', 'error', 'gone'] as const;
export type DocumentState = (typeof documentStates)[number];

export interface KnowledgeDocument extends KbKey {
  generation: number;
  documentId: string;
  sourceId: string;
  uri: string;
  title: string;
  mediaType: string | null;
  state: DocumentState;
  contentHash: string | null;
  etag: string | null;
  lastModified: string | null;
  chunkCount: number;
  errorCode: string | null;
  errorText: string | null;
  /** What readers left out or repaired, in sentences. */
  notes: string[];
  updatedAt: Date;
}

/** `chunks_seen = chunks_processed + chunks_skipped + chunks_error` at the end; the database checks it. */
export interface KnowledgeCounters {
  docs_seen: number;
  docs_unchanged: number;
  docs_empty: number;
  docs_error: number;
  docs_gone: number;
  chunks_seen: number;
  chunks_processed: number;
  chunks_skipped: number;
  chunks_error: number;
  tokens_embedded: number;
}
