import { z } from 'zod';
import { timestamp } from '../../kernel/http/replies.ts';
import type { Job } from '../../kernel/jobs/types.ts';
import type { LastRun } from './bases/overview-store.ts';
import type { ChunkerSettings } from './chunkers/chunker.ts';
import type { EmbedderSettings } from './embedders/embedder.ts';
import { type RunReport, statusOf } from './run/report.ts';
import { uriOfFile } from './sources/files.ts';
import {
  type DocumentState,
  documentStates,
  type KnowledgeBase,
  type KnowledgeDocument,
  type KnowledgeFile,
  type KnowledgeSource,
  runStatuses,
  sourceTypes,
} from './types.ts';

export const knowledgeBaseReply = z
  .object({
    kb_id: z.string(),
    name: z.string(),
    chunker: z.object({
      strategy: z.enum(['markdown', 'recursive', 'fixed']),
      max_tokens: z.int(),
      overlap_tokens: z.int().optional(),
    }),
    embedder: z.object({
      provider: z.enum(['local', 'openai', 'custom']),
      name: z.string().optional(),
      base_url: z.string().optional(),
      model: z.string().optional(),
      dimensions: z.int().nullable().optional(),
      api_key_secret: z.string().nullable().optional(),
      price_per_million_tokens: z.number().optional(),
    }),
    generation: z
      .int()
      .describe('The build of the index that searches use; 0 before the first run has ended'),
    status: z.enum(runStatuses).describe('State of its last run'),
    job_id: z.uuid().nullable().describe('Job of its last run'),
    documents: z
      .record(z.enum(documentStates), z.int())
      .optional()
      .describe('Number of documents in each state; not in lists'),
    chunks: z.int().optional().describe('Number of chunks; not in lists'),
    created_by: z.string(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'KnowledgeBase' });

export function renderKnowledgeBase(
  kb: KnowledgeBase,
  lastRun: LastRun | null = null,
  figures: { documents: Record<DocumentState, number>; chunks: number } | null = null,
): z.output<typeof knowledgeBaseReply> {
  return {
    kb_id: kb.kbId,
    name: kb.name,
    chunker: renderChunker(kb.chunker),
    embedder: renderEmbedder(kb.embedder),
    generation: kb.generation,
    status: statusOf(lastRun),
    job_id: lastRun?.jobId ?? null,
    ...figures,
    created_by: kb.createdBy,
    created_at: kb.createdAt.toISOString(),
    updated_at: kb.updatedAt.toISOString(),
  };
}

function renderChunker(settings: ChunkerSettings) {
  const { strategy, maxTokens } = settings;
  const overlap = strategy === 'fixed' ? { overlap_tokens: settings.overlapTokens } : {};
  return { strategy, max_tokens: maxTokens, ...overlap };
}

function renderEmbedder(settings: EmbedderSettings) {
  if (settings.provider !== 'openai') return settings;
  return {
    provider: settings.provider,
    base_url: settings.baseUrl,
    model: settings.model,
    dimensions: settings.dimensions,
    api_key_secret: settings.apiKeySecret,
    price_per_million_tokens: settings.pricePerMillionTokens,
  };
}

export const knowledgeSourceReply = z
  .object({
    source_id: z.uuid(),
    kb_id: z.string(),
    type: z.enum(sourceTypes),
    settings: z.record(z.string(), z.unknown()),
    created_at: timestamp,
  })
  .meta({ id: 'KnowledgeSource' });

export function renderSource(source: KnowledgeSource): z.output<typeof knowledgeSourceReply> {
  return {
    source_id: source.sourceId,
    kb_id: source.kbId,
    type: source.type,
    settings: source.settings,
    created_at: source.createdAt.toISOString(),
  };
}

export const knowledgeFileReply = z
  .object({
    file_id: z.uuid(),
    kb_id: z.string(),
    name: z.string(),
    uri: z.string().describe('URI of the document that the next run makes from the file'),
    media_type: z.string(),
    size_bytes: z.int(),
    sha256: z.string(),
    origin: z.string().nullable().describe('Where the file came from, if the sender said so'),
    created_at: timestamp,
  })
  .meta({ id: 'KnowledgeFile' });

export function renderFile(file: KnowledgeFile): z.output<typeof knowledgeFileReply> {
  return {
    file_id: file.fileId,
    kb_id: file.kbId,
    name: file.name,
    uri: uriOfFile(file.name),
    media_type: file.mediaType,
    size_bytes: file.sizeBytes,
    sha256: file.sha256,
    origin: file.origin,
    created_at: file.createdAt.toISOString(),
  };
}

export const knowledgeDocumentReply = z
  .object({
    document_id: z.uuid(),
    kb_id: z.string(),
    source_id: z.uuid(),
    uri: z.string(),
    title: z.string(),
    media_type: z.string().nullable(),
    state: z.enum(documentStates),
    content_hash: z.string().nullable(),
    chunk_count: z.int(),
    error_code: z.string().nullable(),
    error_text: z.string().nullable(),
    notes: z.array(z.string()).describe('What was left out or repaired when the document was read'),
    updated_at: timestamp,
  })
  .meta({ id: 'KnowledgeDocument' });

export function renderDocument(document: KnowledgeDocument): z.output<typeof knowledgeDocumentReply> {
  return {
    document_id: document.documentId,
    kb_id: document.kbId,
    source_id: document.sourceId,
    uri: document.uri,
    title: document.title,
    media_type: document.mediaType,
    state: document.state,
    content_hash: document.contentHash,
    chunk_count: document.chunkCount,
    error_code: document.errorCode,
    error_text: document.errorText,
    notes: document.notes,
    updated_at: document.updatedAt.toISOString(),
  };
}

const counts = z.object({
  docs_seen: z.int(),
  docs_unchanged: z.int(),
  docs_empty: z.int(),
  docs_error: z.int(),
  docs_gone: z.int(),
  chunks_seen: z.int(),
  chunks_processed: z.int(),
  chunks_skipped: z.int(),
  chunks_error: z.int(),
  tokens_embedded: z.int(),
});

export const runReply = z
  .object({
    job_id: z.uuid().nullable(),
    kb_id: z.string(),
    status: z.enum(runStatuses),
    stage: z.string().nullable(),
    checkpoint: z.record(z.string(), z.unknown()).nullable().describe('{last_batch_id, cursor}'),
    counters: counts,
    incomplete_sources: z
      .array(z.object({ source_id: z.uuid(), reason: z.string() }))
      .describe('Sources that could not list all their documents; none of their documents were removed'),
    last_error: z.string().nullable(),
    error_code: z.string().nullable(),
    heartbeat_age_seconds: z.number().nullable(),
    stalled: z.boolean().describe('The run is due, and no worker has reported progress for 30 seconds'),
    waiting_until: timestamp
      .nullable()
      .describe(
        'The run waits until then: its embedder is throttling or down, or the next attempt is not due yet',
      ),
    docs_expected: z.int().describe('Number of documents that the sources are known to have; 0 if unknown'),
    docs_per_second: z.number(),
    chunks_per_second: z.number(),
    eta_seconds: z.number().nullable().describe('Null if unknown'),
    started_at: timestamp.nullable(),
    finished_at: timestamp.nullable(),
  })
  .meta({ id: 'KnowledgeRun' });

export function renderRun(report: RunReport): z.output<typeof runReply> {
  const { job } = report;
  return {
    job_id: job?.jobId ?? null,
    kb_id: report.kbId,
    status: statusOf(job),
    stage: job?.stage ?? null,
    checkpoint: report.checkpoint,
    counters: report.counters,
    incomplete_sources: report.incomplete,
    last_error: job?.errorMessage ?? null,
    error_code: job?.errorCode ?? null,
    heartbeat_age_seconds: report.heartbeatAgeSeconds,
    stalled: report.isStalled,
    waiting_until: report.waitingUntil?.toISOString() ?? null,
    docs_expected: report.docsExpected,
    docs_per_second: report.docsPerSecond,
    chunks_per_second: report.chunksPerSecond,
    eta_seconds: report.etaSeconds,
    started_at: job?.startedAt?.toISOString() ?? null,
    finished_at: job?.finishedAt?.toISOString() ?? null,
  };
}

export const startedRunReply = z
  .object({ job_id: z.uuid(), kb_id: z.string(), status: z.enum(runStatuses) })
  .meta({ id: 'StartedKnowledgeRun' });

export function renderStarted(job: Job): z.output<typeof startedRunReply> {
  return { job_id: job.jobId, kb_id: job.subjectId, status: statusOf(job) };
}

const found = z.object({
  text: z.string(),
  score: z.number(),
  document: z.object({ document_id: z.uuid(), uri: z.string(), title: z.string() }),
  heading_path: z.array(z.string()),
  start: z.int(),
  end: z.int(),
});

export const searchReply = z.object({ results: z.array(found) }).meta({ id: 'KnowledgeResults' });

export const planReply = z
  .object({
    documents: z.object({ new: z.int(), changed: z.int(), gone: z.int(), unchanged: z.int() }),
    chunks: z.int(),
    tokens: z.int(),
    cost: z.number().describe('In the currency of the embedder’s price'),
    is_complete: z.boolean().describe('False if time ran out before every document was read'),
  })
  .meta({ id: 'KnowledgePlan' });
