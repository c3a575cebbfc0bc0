import { z } from 'zod';
import { storedText } from '../../../kernel/http/stored-text.ts';
import { knowledgeErrors } from '../errors.ts';
import type { SearchResult } from './results.ts';

/** The request and response of OpenAI's `POST /v1/vector_stores/{vector_store_id}/search`. */

const value = z.union([storedText(1_000), z.number(), z.boolean()]);

export const openAiSearchForm = z.strictObject({
  query: z.union([storedText(8_000).min(1), z.array(storedText(8_000).min(1)).min(1).max(10)]),
  max_num_results: z.int().min(1).max(50).default(10),
  filters: z
    .record(z.string(), z.unknown())
    .nullish()
    .describe(
      '{type, key, value} with eq, ne, gt, gte, lt, lte, in or nin; or {type, filters} with and or or',
    ),
  ranking_options: z
    .strictObject({
      ranker: storedText(100)
        .optional()
        .describe('none: without the reranker of the knowledge base; any other: with it'),
      score_threshold: z.number().min(0).max(1).optional(),
    })
    .nullish(),
  rewrite_query: z.boolean().optional().describe('Accepted and ignored: queries are never rewritten'),
});

const hit = z.object({
  file_id: z.string().describe('The document_id'),
  filename: z.string().describe('The name of the file, or the URI of the document'),
  score: z.number().min(0).max(1),
  attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  content: z.array(z.object({ type: z.literal('text'), text: z.string() })),
});

export const openAiSearchReply = z
  .object({
    object: z.literal('vector_store.search_results.page'),
    search_query: z.array(z.string()),
    data: z.array(hit),
    has_more: z.boolean(),
    next_page: z.string().nullable(),
  })
  .meta({ id: 'OpenAiSearchResults' });

const comparison = z.strictObject({
  type: z.enum(['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin']),
  key: z.string(),
  value: z.union([value, z.array(value)]),
});

/** OpenAI's filters as ours. */
export function filterOfOpenAi(filters: unknown, depth = 0): Record<string, unknown> {
  const { type, filters: inner } = (filters ?? {}) as { type?: unknown; filters?: unknown };
  if ((type === 'and' || type === 'or') && Array.isArray(inner) && depth < 4) {
    return { [`$${type}`]: inner.map((one) => filterOfOpenAi(one, depth + 1)) };
  }
  const read = comparison.safeParse(filters);
  if (!read.success) {
    throw knowledgeErrors.raise.knowledge_filter_refused(
      'A filter must be {type, key, value} with eq, ne, gt, gte, lt, lte, in or nin, or {type, filters} with and or or',
      { fields: [{ pointer: '/filters', message: 'is not a filter of OpenAI’s form' }] },
    );
  }
  const { key, type: operator, value: wanted } = read.data;
  if (operator === 'ne' || operator === 'nin') return { $not: { [key]: wanted } };
  return { [key]: operator === 'eq' ? wanted : { [operator]: wanted } };
}

const maxAttributes = 16;

export function hitOf({ document, score, text }: SearchResult): z.output<typeof hit> {
  const attributes = Object.entries(document.metadata)
    .filter(([name]) => name.length <= 64)
    .slice(0, maxAttributes)
    .map(([name, given]) => {
      const shown = Array.isArray(given) ? given.join(', ') : given;
      return [name, typeof shown === 'string' ? shown.slice(0, 512) : shown];
    });
  return {
    file_id: document.document_id,
    filename: document.uri.replace(/^file:/, ''),
    // A hybrid score may be above 1: words add to the similarity.
    score: Math.min(1, Math.max(0, score)),
    attributes: Object.fromEntries(attributes),
    content: [{ type: 'text', text }],
  };
}
