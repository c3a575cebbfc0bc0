import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { principalOf } from '../../kernel/http/route.ts';
import { isStorable, storedText } from '../../kernel/http/stored-text.ts';
import { isUsableId } from '../../kernel/tenancy/types.ts';
import { isJsonLonger, jsonUnits } from '../../lib/json-length.ts';
import { createTurns } from '../../lib/timing/event-loop-turns.ts';
import { crawlKinds, type NewReference, type SourceKey } from './types.ts';

const sourceName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
    'must be 1 to 100 letters, digits, dots, dashes and underscores',
  )
  // /api/scraping/sources is a route of its own.
  .refine((name) => name !== 'sources', 'must not be "sources"');

const kbId = z.string().min(1).refine(isUsableId, 'must be 1 to 200 characters without control characters');

const webAddress = storedText(2_000)
  .refine((text) => /^https?:\/\//i.test(text) && URL.canParse(text), 'must be an http(s) address')
  .meta({ format: 'uri' });

const prefix = storedText(500).min(1);

export const scrapeFormParts = { sourceName, runId: z.uuid() };

/** The path of everything that belongs to a scrape source. */
export const sourceParams = z.strictObject({ source: sourceName });

export function sourceKeyOf(request: FastifyRequest & { params: { source: string } }): SourceKey {
  return { tenantId: principalOf(request).tenantId, source: request.params.source };
}

const handedTo = kbId.describe('The knowledge base that receives the references');

export const sourceForm = z.discriminatedUnion('mode', [
  z.strictObject({ mode: z.literal('push'), kb_id: handedTo }),
  z.strictObject({
    mode: z.literal('crawl'),
    kb_id: handedTo,
    url: webAddress.describe('Where the crawl starts: a page, a sitemap or a feed'),
    kind: z.enum(crawlKinds).default('website'),
    max_pages: z.int().min(1).max(50_000).optional(),
    max_depth: z.int().min(0).max(100).optional(),
    include: z.array(prefix).max(100).optional().describe('Only pages whose path starts with one of these'),
    exclude: z
      .array(prefix)
      .max(100)
      .optional()
      .describe('Leaves out pages whose path starts with one of these'),
    every_hours: z
      .number()
      .min(1)
      .max(8_760)
      .nullish()
      .describe('How often the crawl starts by itself; left out: only when somebody starts it'),
    sitemap: z.boolean().optional().describe('Websites only: also read the pages listed in the sitemap'),
  }),
]);

export type SourceForm = z.output<typeof sourceForm>;

/** What is stored of a form. Settings that are not given are not stored, so that defaults can change. */
export function sourceOf(form: SourceForm) {
  const { mode, kb_id: kbId } = form;
  if (form.mode === 'push') return { mode, kbId, kind: null, url: null, settings: {}, everyHours: null };
  const given = {
    maxPages: form.max_pages,
    maxDepth: form.max_depth,
    include: form.include?.map(asPath),
    exclude: form.exclude?.map(asPath),
    sitemap: form.sitemap,
  };
  const settings = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { mode, kbId, kind: form.kind, url: form.url, settings, everyHours: form.every_hours ?? null };
}

function asPath(text: string): string {
  return text.startsWith('/') ? text : `/${text}`;
}

const maxIdBytes = 1_500;
const maxContent = 4_000_000;
const maxMetadataBytes = 65_536;

const metadataTooLong = `must not be larger than ${maxMetadataBytes} bytes`;

const metadata = z
  .record(z.string(), z.unknown())
  .refine(
    (value) => isStorable(value),
    'must not contain NUL characters, broken surrogate pairs or more than 64 levels',
  )
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= maxMetadataBytes, metadataTooLong);

const reference = z.strictObject({
  external_id: storedText(maxIdBytes)
    .min(1)
    .refine((id) => Buffer.byteLength(id) <= maxIdBytes, `must not be longer than ${maxIdBytes} bytes`)
    .describe('The scraper’s id of the reference; sending the same id again changes it'),
  url: webAddress,
  title: storedText(1_000).nullish(),
  content: storedText(maxContent).describe('Markdown, unless media_type says otherwise'),
  media_type: z
    .enum(['text/markdown', 'text/plain', 'text/html'])
    .optional()
    .describe('Media type of the content; default: text/markdown'),
  metadata: metadata.nullish(),
});

/** Of one whose metadata would take long to be read: before the schema copies each of its members. */
export function refuseReference(element: unknown): { path: string; message: string } | null {
  const { metadata: given } = (element ?? {}) as { metadata?: unknown };
  return isJsonLonger(given, maxMetadataBytes) ? { path: 'metadata', message: metadataTooLong } : null;
}

export function referencesForm(maxReferences: number) {
  return z.strictObject({ references: z.array(reference).max(maxReferences).optional() }).nullish();
}

/** In turns: thousands of references have megabytes of metadata. */
export async function referencesOf(forms: readonly z.output<typeof reference>[]): Promise<NewReference[]> {
  const takeTurn = createTurns();
  const references: NewReference[] = [];
  for (const form of forms) {
    references.push(referenceOf(form));
    await takeTurn();
  }
  return references;
}

function referenceOf(form: z.output<typeof reference>): NewReference {
  return {
    externalId: form.external_id,
    url: form.url,
    title: form.title ?? '',
    content: form.content,
    mediaType: form.media_type ?? null,
    metadata: form.metadata ?? {},
    metadataUnits: jsonUnits(form.metadata ?? {}),
    memo: null,
  };
}
