import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { principalOf } from '../../../kernel/http/route.ts';
import { storedText } from '../../../kernel/http/stored-text.ts';
import { isUsableId, viewOf } from '../../../kernel/tenancy/types.ts';
import type { TenantView } from '../../../lib/postgres/db.ts';
import type { ChunkContext, ChunkerSettings } from '../chunkers/chunker.ts';
import type { EmbedderSettings } from '../embedders/embedder.ts';
import { localModelNames } from '../embedders/local-models.ts';
import { candidateBounds, type RerankerSettings } from '../rerankers/reranker.ts';
import { sourceForm } from '../sources/source-form.ts';
import { webAddress } from '../sources/web-address.ts';
import { type KbKey, languages } from '../types.ts';

const id = z
  .string()
  .min(1)
  .refine(isUsableId, 'must be 1 to 200 characters without control characters')
  // HTTP clients remove these two from paths, so the knowledge base could not be reached.
  .refine((text) => text !== '.' && text !== '..', 'must not be . or ..');
const name = z
  .string()
  .min(1)
  .max(200)
  .refine(isUsableId, 'must not contain control characters')
  .refine((text) => text.trim() !== '', 'must not be blank');

const maxTokens = z.int().min(16).max(8_000).optional();
const minTokens = z
  .int()
  .min(1)
  .max(4_000)
  .optional()
  .describe('A paragraph of fewer tokens is joined with its neighbours; default: a quarter of max_tokens');
const context = z
  .enum(['headings', 'none'])
  .optional()
  .describe('Whether a chunk is embedded together with the title and headings above it');

/** The built-in model reads 254 tokens; others read much more than a chunk should have. */
const defaultMaxTokens = { local: 200, openai: 400, custom: 400 };
const smallestDefault = defaultMaxTokens.local;
/**
 * With the built-in model long paragraphs stay together, and paragraphs of two sentences stand alone: on the pairs of
 * test/recall and on published abstracts that finds most.
 */
const localDefaults = { minTokens: 24, context: 'headings' } as const;

const chunker = z
  .discriminatedUnion('strategy', [
    z.strictObject({
      strategy: z.literal('markdown'),
      max_tokens: maxTokens,
      min_tokens: minTokens,
      context,
    }),
    z.strictObject({
      strategy: z.literal('recursive'),
      max_tokens: maxTokens,
      min_tokens: minTokens,
      context,
    }),
    z
      .strictObject({
        strategy: z.literal('fixed'),
        max_tokens: maxTokens,
        overlap_tokens: z.int().min(0).max(4_000).optional(),
        context,
      })
      .refine(({ max_tokens: max, overlap_tokens: overlap = 0 }) => overlap * 2 <= (max ?? smallestDefault), {
        path: ['overlap_tokens'],
        error: 'must be at most half of max_tokens',
      }),
  ])
  .describe('How texts are divided into chunks; default: by headings');

const embedder = z
  .discriminatedUnion('provider', [
    z.strictObject({
      provider: z.literal('local'),
      model: z
        .enum(localModelNames)
        .optional()
        .describe('A built-in model; default: the current one, also after an upgrade'),
    }),
    z.strictObject({
      provider: z.literal('openai'),
      base_url: webAddress(2_000).optional(),
      model: storedText(200).min(1),
      dimensions: z.int().min(1).max(16_000).nullish(),
      api_key_secret: storedText(200).min(1).nullish().describe('Name of a stored secret'),
      price_per_million_tokens: z.number().min(0).max(1_000_000).optional(),
    }),
    z.strictObject({ provider: z.literal('custom'), name: storedText(100).min(1) }),
  ])
  .describe('What turns texts into vectors; default: the built-in embedder');

const candidates = z
  .int()
  .min(1)
  .max(candidateBounds.most)
  .default(candidateBounds.usual)
  .describe('How many of the best passages it orders anew');

const reranker = z
  .discriminatedUnion('provider', [
    z.strictObject({
      provider: z.literal('endpoint'),
      url: webAddress(2_000).describe('The whole address, such as https://api.cohere.com/v2/rerank'),
      model: storedText(200).min(1),
      api_key_secret: storedText(200).min(1).nullish().describe('Name of a stored secret'),
      candidates,
    }),
    z.strictObject({ provider: z.literal('custom'), name: storedText(100).min(1), candidates }),
  ])
  .describe('What orders the results of searches anew; null or absent: nothing');

export const knowledgeFormParts = { id };

export const changeFields = {
  name: name.optional(),
  chunker: chunker.optional(),
  embedder: embedder.optional(),
  reranker: reranker.nullish(),
  language: z
    .enum(languages)
    .optional()
    .describe('The language of the texts, for searches by words; default: english'),
};

const maxSourcesAtOnce = 100;

export const knowledgeFields = {
  ...changeFields,
  kb_id: id.optional(),
  name,
  sources: z.array(sourceForm).max(maxSourcesAtOnce).default([]),
};

const openAi = 'https://api.openai.com/v1';

export type KnowledgeForm = z.output<z.ZodObject<typeof knowledgeFields>>;
export type KnowledgeChange = z.output<z.ZodObject<typeof changeFields>>;

export function embedderOf(form: z.output<typeof embedder>): EmbedderSettings {
  if (form.provider === 'local') {
    return form.model === undefined ? { provider: 'local' } : { provider: 'local', model: form.model };
  }
  if (form.provider === 'custom') return form;
  return {
    provider: 'openai',
    baseUrl: form.base_url ?? openAi,
    model: form.model,
    dimensions: form.dimensions ?? null,
    apiKeySecret: form.api_key_secret ?? null,
    pricePerMillionTokens: form.price_per_million_tokens ?? 0,
  };
}

export function rerankerOf(form: z.output<typeof reranker> | null): RerankerSettings | null {
  if (form === null || form.provider === 'custom') return form;
  const { url, model, api_key_secret: apiKeySecret = null, candidates: some } = form;
  return { provider: 'endpoint', url, model, apiKeySecret, candidates: some };
}

export function chunkerOf(
  form: z.output<typeof chunker> | undefined,
  { provider }: EmbedderSettings,
): ChunkerSettings {
  const { strategy, max_tokens: given } = form ?? { strategy: 'markdown' };
  const maxTokens = given ?? defaultMaxTokens[provider];
  const context = contextOf(form?.context, provider);
  if (strategy === 'fixed') {
    const overlap = form?.strategy === 'fixed' ? form.overlap_tokens : undefined;
    return { strategy, maxTokens, overlapTokens: overlap ?? Math.floor(maxTokens / 8), ...context };
  }
  const min = form && form.strategy !== 'fixed' ? form.min_tokens : undefined;
  const minTokens =
    min ?? (provider === 'local' && given === undefined ? localDefaults.minTokens : undefined);
  // Only what differs from older versions is stored, so that their indexes stay valid.
  return { strategy, maxTokens, ...(minTokens === undefined ? {} : { minTokens }), ...context };
}

function contextOf(
  given: ChunkContext | undefined,
  provider: EmbedderSettings['provider'],
): { context?: ChunkContext } {
  const context = given ?? (provider === 'local' ? localDefaults.context : 'none');
  return context === 'none' ? {} : { context };
}

/** The path of everything that belongs to a knowledge base. */
export const kbParams = z.strictObject({ kb_id: knowledgeFormParts.id });

/** With what the caller may see of it. */
export function kbKeyOf(request: FastifyRequest & { params: { kb_id: string } }): KbKey & TenantView {
  return { ...viewOf(principalOf(request)), kbId: request.params.kb_id };
}
