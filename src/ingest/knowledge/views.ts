import { z } from 'zod';
import { shownAs, timestamp } from '../../kernel/http/replies.ts';
import type { Job } from '../../kernel/jobs/types.ts';
import type { SeesName } from '../../kernel/secrets/types.ts';
import type { TenantView } from '../../lib/postgres/db.ts';
import { toSnakeCase } from '../../lib/snake-case.ts';
import type { LastRun } from './bases/overview-store.ts';
import type { EmbedderSettings } from './embedders/embedder.ts';
import type { RerankerSettings } from './rerankers/reranker.ts';
import { type RunReport, statusOf } from './run/report.ts';
import { uriOfFile } from './sources/files.ts';
import { settingsShownTo } from './sources/source-secrets.ts';
import {
  counterNames,
  type DocumentState,
  documentStates,
  type KnowledgeBase,
  type KnowledgeCounters,
  type KnowledgeDocument,
  type KnowledgeFile,
  type KnowledgeSource,
  languages,
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
      min_tokens: z.int().optional(),
      overlap_tokens: z.int().optional(),
      context: z.enum(['headings', 'none']).optional(),
    }),
    embedder: z.object({
      provider: z.enum(['local', 'openai', 'custom']),
      name: z.string().optional(),
      base_url: z.string().optional(),
      model: z.string().optional(),
      dimensions: z.int().nullable().optional(),
      api_key_secret: z.string().nullable().optional().describe('Null: none, or one that you may not use'),
      price_per_million_tokens: z.number().optional(),
    }),
    reranker: z
      .object({
        provider: z.enum(['endpoint', 'custom']),
        name: z.string().optional(),
        url: z.string().optional(),
        model: z.string().optional(),
        api_key_secret: z.string().nullable().optional().describe('Null: none, or one that you may not use'),
        candidates: z.int(),
      })
      .nullable()
      .describe('What orders the results of searches anew; null: nothing'),
    language: z.enum(languages).describe('The language of its texts, for searches by words'),
    generation: z
      .int()
      .describe('The build of the index that searches use; 0 before the first run has ended'),
    status: z.enum(runStatuses).describe('State of its last run'),
    job_id: z.uuid().nullable().describe('Job of its last run'),
    documents: z
      .object({ indexed: z.int(), empty: z.int(), error: z.int(), gone: z.int() })
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
  sees: SeesName,
  lastRun: LastRun | null = null,
  figures: { documents: Record<DocumentState, number>; chunks: number } | null = null,
): z.output<typeof knowledgeBaseReply> {
  const { tenantId: _, chunker, embedder, reranker, ...shown } = kb;
  return {
    ...toSnakeCase(shown),
    chunker: toSnakeCase(chunker),
    embedder: toSnakeCase(shownTo(sees, embedder)),
    reranker: reranker === null ? null : toSnakeCase(rerankerShownTo(sees, reranker)),
    status: statusOf(lastRun),
    job_id: lastRun?.jobId ?? null,
    ...figures,
  };
}

function shownTo(sees: SeesName, embedder: EmbedderSettings): EmbedderSettings {
  if (embedder.provider !== 'openai' || embedder.apiKeySecret === null) return embedder;
  return sees(embedder.apiKeySecret) ? embedder : { ...embedder, apiKeySecret: null };
}

function rerankerShownTo(sees: SeesName, reranker: RerankerSettings): RerankerSettings {
  if (reranker.provider !== 'endpoint' || reranker.apiKeySecret === null) return reranker;
  return sees(reranker.apiKeySecret) ? reranker : { ...reranker, apiKeySecret: null };
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
  return shownAs(knowledgeSourceReply, source);
}

/** Rules say who may see what, and the text of a source may be one that the caller may not see. */
export function renderSourceFor({ groups }: TenantView, source: KnowledgeSource, sees: SeesName) {
  const isHidden = groups !== undefined && source.settings.rules !== undefined;
  const settings = isHidden ? {} : settingsShownTo(sees, source.settings);
  return renderSource({ ...source, settings });
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
  return { ...shownAs(knowledgeFileReply, file), uri: uriOfFile(file.name) };
}

const metadataReply = z
  .record(z.string(), z.unknown())
  .describe('What the document, its source and the API say of it; for filters');

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
    metadata: metadataReply,
    allow: z.array(z.string()).nullable().describe('Groups whose members may see it; null: everybody'),
    updated_at: timestamp,
  })
  .meta({ id: 'KnowledgeDocument' });

export function renderDocument(document: KnowledgeDocument): z.output<typeof knowledgeDocumentReply> {
  return shownAs(knowledgeDocumentReply, document);
}

const counts = z.object(
  Object.fromEntries(counterNames.map((name) => [name, z.int()])) as Record<
    keyof KnowledgeCounters,
    z.ZodInt
  >,
);

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
    waiting_reason: z.string().nullable().describe('Why the run waits for its embedder; null if it does not'),
    docs_expected: z.int().describe('Number of documents that the sources are known to have; 0 if unknown'),
    docs_per_second: z.number(),
    chunks_per_second: z.number(),
    eta_seconds: z.number().nullable().describe('Null if unknown'),
    started_at: timestamp.nullable(),
    finished_at: timestamp.nullable(),
  })
  .meta({ id: 'KnowledgeRun' });

export function renderRun(report: RunReport): z.output<typeof runReply> {
  const { job, incomplete, isStalled, ...shown } = report;
  return {
    ...toSnakeCase(shown),
    job_id: job?.jobId ?? null,
    status: statusOf(job),
    stage: job?.stage ?? null,
    incomplete_sources: incomplete,
    last_error: job?.errorMessage ?? null,
    error_code: job?.errorCode ?? null,
    stalled: isStalled,
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

const foundPlace = z.object({
  document: z.object({ document_id: z.uuid(), uri: z.string(), title: z.string() }),
  heading_path: z.array(z.string()),
  start: z.int(),
  end: z.int(),
  page: z.int().optional().describe('The page or slide that it begins on; absent if the document has none'),
});

const textRange = z.object({ start: z.int(), end: z.int() });

const found = foundPlace.extend({
  document: foundPlace.shape.document.extend({ metadata: metadataReply }),
  text: z.string(),
  score: z.number(),
  pages: z.array(z.int()).optional().describe('All pages or slides that it is on'),
  link: z
    .string()
    .describe(
      'Where a person reads it: the place on the web, or a path of this server that shows the document',
    ),
  highlights: z
    .array(textRange)
    .optional()
    .describe('Where the words of the query are in `text`, in any of their forms'),
  best_sentence: textRange
    .optional()
    .describe('The part of `text` that is nearest in meaning; only if the request has `sentences`'),
  passages: z
    .array(textRange.extend({ score: z.number() }))
    .optional()
    .describe('The neighbouring passages that it was made of, at most four; absent if it is one'),
  also_in: z
    .array(foundPlace)
    .optional()
    .describe('Other places with the same text, at most 20; absent if there are none'),
  explanation: z
    .object({
      similarity: z.number().nullable().describe('Cosine of the vectors of passage and query'),
      bm25: z.number().describe('Score of the words: the sum of their scores'),
      bm25_of_all_words: z.number().describe('Score of an average passage with each word of the query once'),
      words_add: z.number().nullable().describe('What the words add to the similarity in a hybrid search'),
      word_count: z.int().nullable(),
      average_word_count: z.number().nullable(),
      words: z.array(
        z.object({
          word: z.string().describe('As the index has it'),
          passages: z.int().describe('Number of passages that contain it'),
          weight: z.number().describe('Its inverse document frequency'),
          occurrences: z.int().describe('How often the passage contains it'),
          score: z.number(),
        }),
      ),
    })
    .optional()
    .describe('How the score came about; only if the request has `explain`'),
});

export const searchReply = z
  .object({
    results: z.array(found),
    reranked: z
      .boolean()
      .optional()
      .describe('Whether the reranker has ordered the results; absent if there is none, or it was not asked'),
    notes: z
      .array(z.string())
      .optional()
      .describe('What to know of the results: fields that no document has, or that the reranker failed'),
  })
  .meta({ id: 'KnowledgeResults' });

export const searchAllReply = z
  .object({
    results: z.array(found.extend({ base: z.object({ kb_id: z.string(), name: z.string() }) })),
    facets: z.array(
      z.object({
        field: z.string().describe('base, format, or a field of the metadata'),
        values: z.array(
          z.object({
            value: z.union([z.string(), z.number(), z.boolean()]),
            label: z.string(),
            documents: z.int().describe('How many of the found documents have it'),
          }),
        ),
      }),
    ),
    notes: z.array(z.string()).describe('Knowledge bases that could not be searched'),
  })
  .meta({ id: 'KnowledgeResultsOfAll' });

export const planReply = z
  .object({
    documents: z.object({ new: z.int(), changed: z.int(), gone: z.int(), unchanged: z.int() }),
    chunks: z.int(),
    tokens: z.int(),
    cost: z.number().describe('In the currency of the embedder’s price'),
    is_complete: z.boolean().describe('False if time ran out before every document was read'),
    is_rebuild: z
      .boolean()
      .describe(
        'Everything is embedded again: the index was built with other settings, or with an older built-in model',
      ),
  })
  .meta({ id: 'KnowledgePlan' });
