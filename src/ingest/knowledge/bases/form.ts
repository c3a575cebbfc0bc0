import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { principalOf } from '../../../kernel/http/route.ts';
import { storedText } from '../../../kernel/http/stored-text.ts';
import { isUsableId } from '../../../kernel/tenancy/types.ts';
import type { ChunkerSettings } from '../chunkers/chunker.ts';
import type { EmbedderSettings } from '../embedders/embedder.ts';
import { sourceForm } from '../sources/source-form.ts';
import { webAddress } from '../sources/web-address.ts';
import type { KbKey } from '../types.ts';

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

/** The built-in model reads 128 tokens; others read much more than a chunk should have. */
const defaultMaxTokens = { local: 110, openai: 400, custom: 400 };
const smallestDefault = defaultMaxTokens.local;

const chunker = z
  .discriminatedUnion('strategy', [
    z.strictObject({ strategy: z.literal('markdown'), max_tokens: maxTokens }),
    z.strictObject({ strategy: z.literal('recursive'), max_tokens: maxTokens }),
    z
      .strictObject({
        strategy: z.literal('fixed'),
        max_tokens: maxTokens,
        overlap_tokens: z.int().min(0).max(4_000).optional(),
      })
      .refine(({ max_tokens: max, overlap_tokens: overlap = 0 }) => overlap * 2 <= (max ?? smallestDefault), {
        path: ['overlap_tokens'],
        error: 'must be at most half of max_tokens',
      }),
  ])
  .describe('How texts are divided into chunks; default: by headings');

const embedder = z
  .discriminatedUnion('provider', [
    z.strictObject({ provider: z.literal('local') }),
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

export const knowledgeFormParts = { id };

export const changeFields = {
  name: name.optional(),
  chunker: chunker.optional(),
  embedder: embedder.optional(),
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
  if (form.provider !== 'openai') return form;
  return {
    provider: 'openai',
    baseUrl: form.base_url ?? openAi,
    model: form.model,
    dimensions: form.dimensions ?? null,
    apiKeySecret: form.api_key_secret ?? null,
    pricePerMillionTokens: form.price_per_million_tokens ?? 0,
  };
}

export function chunkerOf(
  form: z.output<typeof chunker> | undefined,
  { provider }: EmbedderSettings,
): ChunkerSettings {
  const { strategy, max_tokens: given } = form ?? { strategy: 'markdown' };
  const maxTokens = given ?? defaultMaxTokens[provider];
  if (strategy !== 'fixed') return { strategy, maxTokens };
  const overlap = form?.strategy === 'fixed' ? form.overlap_tokens : undefined;
  return { strategy, maxTokens, overlapTokens: overlap ?? Math.floor(maxTokens / 8) };
}

/** The path of everything that belongs to a knowledge base. */
export const kbParams = z.strictObject({ kb_id: knowledgeFormParts.id });

export function kbKeyOf(request: FastifyRequest & { params: { kb_id: string } }): KbKey {
  return { tenantId: principalOf(request).tenantId, kbId: request.params.kb_id };
}
