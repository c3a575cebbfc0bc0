import type { FileRecord } from '../../kernel/files/types.ts';
import type { ChunkerSettings } from './chunkers/chunker.ts';
import type { EmbedderSettings } from './embedders/embedder.ts';
import type { Labels } from './labels/types.ts';
import type { RerankerSettings } from './rerankers/reranker.ts';

export const pipelineName = 'knowledge';

/** The states of a run in the API. */
export const runStatuses = ['not_started', 'running', 'paused', 'completed', 'failed', 'canceled'] as const;
export type RunStatus = (typeof runStatuses)[number];

export interface KbKey {
  tenantId: string;
  kbId: string;
}

/** Those that every supported PostgreSQL has; `simple` leaves words as they are. */
export const languages = [
  'simple',
  'arabic',
  'armenian',
  'basque',
  'catalan',
  'danish',
  'dutch',
  'english',
  'finnish',
  'french',
  'german',
  'greek',
  'hindi',
  'hungarian',
  'indonesian',
  'irish',
  'italian',
  'lithuanian',
  'nepali',
  'norwegian',
  'portuguese',
  'romanian',
  'russian',
  'serbian',
  'spanish',
  'swedish',
  'tamil',
  'turkish',
  'yiddish',
] as const;
export type Language = (typeof languages)[number];
export const defaultLanguage: Language = 'english';

export interface KnowledgeBase extends KbKey {
  name: string;
  chunker: ChunkerSettings;
  embedder: EmbedderSettings;
  reranker: RerankerSettings | null;
  /** Of its texts; a text search configuration of PostgreSQL. */
  language: Language;
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
  's3',
  'zip',
  'git',
  'reference',
] as const;
export type SourceType = (typeof sourceTypes)[number];

export interface SourceKey extends KbKey {
  sourceId: string;
}

/** `settings` depend on the type and were checked when the source was created. */
export interface KnowledgeSource extends SourceKey {
  type: SourceType;
  settings: Record<string, unknown>;
  createdAt: Date;
}

/** An added file; its bytes are in the stored file `fileId`. */
export interface KnowledgeFile
  extends KbKey,
    Pick<FileRecord, 'fileId' | 'name' | 'mediaType' | 'sizeBytes' | 'sha256' | 'createdBy' | 'createdAt'> {
  /** Where it came from, as the sender said; null if not given. */
  origin: string | null;
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
  language: Language;
  state: GenerationState;
  builtByJob: string;
}

export const documentStates = ['indexed', 'empty', 'error', 'gone'] as const;
export type DocumentState = (typeof documentStates)[number];

export interface DocumentKey extends KbKey {
  documentId: string;
}

export interface KnowledgeDocument extends GenerationKey, DocumentKey, Labels {
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

export const counterNames = [
  'docs_seen',
  'docs_unchanged',
  'docs_empty',
  'docs_error',
  'docs_gone',
  'chunks_seen',
  'chunks_processed',
  'chunks_skipped',
  'chunks_error',
  'tokens_embedded',
] as const;

/** `chunks_seen = chunks_processed + chunks_skipped + chunks_error` at the end; the database checks it. */
export type KnowledgeCounters = Record<(typeof counterNames)[number], number>;
