import type { ChunkerSettings } from './chunkers/chunker.ts';
import type { EmbedderSettings } from './embedders/embedder.ts';

export const pipelineName = 'knowledge';

/** The states of a run in the API. */
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
  /** The generation that searches use; 0 before the first run has ended. */
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

/** `settings` depend on the type and were checked when the source was created. */
export interface KnowledgeSource extends KbKey {
  sourceId: string;
  type: SourceType;
  settings: Record<string, unknown>;
  createdAt: Date;
}

/** An added file; its bytes are in the stored file `fileId`. */
export interface KnowledgeFile extends KbKey {
  fileId: string;
  name: string;
  mediaType: string;
  sizeBytes: number;
  sha256: string;
  /** Where it came from, as the sender said; null if not given. */
  origin: string | null;
  createdBy: string;
  createdAt: Date;
}

export const generationStates = ['building', 'serving', 'retired'] as const;
export type GenerationState = (typeof generationStates)[number];

export interface GenerationKey extends KbKey {
  generation: number;
}

/** Everything that was chunked and embedded with the same settings. */
export interface Generation extends GenerationKey {
  fingerprint: string;
  dimensions: number;
  embedder: EmbedderSettings;
  state: GenerationState;
  builtByJob: string;
}

export const documentStates = ['indexed', 'empty', 'error', 'gone'] as const;
export type DocumentState = (typeof documentStates)[number];

export interface KnowledgeDocument extends GenerationKey {
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
