import { z } from 'zod';
import { crawl } from '../../../kernel/crawl/crawl.ts';
import { crawlErrors } from '../../../kernel/crawl/errors.ts';
import { normalisePageUrl } from '../../../kernel/crawl/page-url.ts';
import type { Wait } from '../../../kernel/crawl/polite-requests.ts';
import type {
  CrawlBounds,
  CrawledPage,
  CrawlProgress,
  CrawlStep,
  KnownPage,
  ReadPage,
} from '../../../kernel/crawl/types.ts';
import { pageTypes } from '../../../kernel/house/doors.ts';
import type { GuardedFetch } from '../../../lib/fetch/guarded-fetch.ts';
import type { OcrSettings } from '../formats/ocr/recognise.ts';
import { readDocument } from '../formats/read-document.ts';
import { storableText, storableTitle } from '../formats/safe-text.ts';
import {
  type DocumentBatch,
  type KnownDocument,
  type LoadContext,
  type LoadedDocument,
  loadedDocument,
  type Source,
} from './source.ts';

const prefix = z
  .string()
  .min(1)
  .max(500)
  .transform((text) => (text.startsWith('/') ? text : `/${text}`));

/** As stored with the source. */
export const websiteSettings = z.object({
  url: z.string().max(2_000),
  max_pages: z.int().min(1).max(10_000).default(500),
  max_depth: z.int().min(0).max(100).default(5),
  include: z.array(prefix).max(100).default([]),
  exclude: z.array(prefix).max(100).default([]),
  sitemap: z.boolean().default(true),
});

export type WebsiteSettings = z.output<typeof websiteSettings>;

export interface WebsiteDeps {
  fetch: GuardedFetch;
  /** Limit of a page or linked file; never more than 20 MB. */
  maxFileBytes?: number;
  ocr?: OcrSettings | null;
  bounds?: Partial<CrawlBounds>;
  wait?: Wait;
}

/** The pages of one host and the documents that they link to. */
export function websiteSource(settings: WebsiteSettings, deps: WebsiteDeps): Source {
  return { batches: (context) => batches(settings, deps, context) };
}

async function* batches(
  settings: WebsiteSettings,
  deps: WebsiteDeps,
  context: LoadContext,
): AsyncGenerator<DocumentBatch> {
  const start = normalisePageUrl(settings.url);
  if (start === null) {
    const allowed = 'Allowed: http and https, without a password';
    const message = `A crawl cannot start at ${settings.url}. ${allowed}`;
    const document = errorDocument(settings.url, 'page_not_found', message);
    yield { documents: [document], cursor: {}, end: { isComplete: false, reason: message } };
    return;
  }
  const loading = new Loading(deps, { ...context, start: start.href });
  const steps = crawl({
    start: start.href,
    scope: { include: settings.include, exclude: settings.exclude },
    useSitemap: settings.sitemap,
    bounds: boundsOf(settings, deps),
    accepts: (mediaType) => readable.has(mediaType),
    fetch: deps.fetch,
    frontier: context.frontier,
    progress: (context.cursor?.progress ?? null) as CrawlProgress | null,
    findKnown: (urls) => loading.findKnown(urls),
    listKnown: listKnownOf(context),
    wasComplete: context.wasComplete,
    signal: context.signal,
    wait: deps.wait,
  });
  for await (const step of steps) {
    await loading.add(step);
    if (loading.isFull() || step.type === 'end') yield await loading.flush(step);
  }
}

const mebibyte = 1024 * 1024;
const maxPageBytes = 20 * mebibyte;

function boundsOf(settings: WebsiteSettings, { bounds, maxFileBytes }: WebsiteDeps): Partial<CrawlBounds> {
  return {
    maxPages: settings.max_pages,
    maxDepth: settings.max_depth,
    maxPageBytes: Math.min(maxFileBytes ?? maxPageBytes, maxPageBytes),
    ...bounds,
  };
}

const readable = new Set([...pageTypes, 'text/vtt']);

/** A batch is yielded when it is this large, or after a while: a slow site must not hold up finished pages. */
const full = { documents: 16, textUnits: mebibyte, found: 2_000, forbidden: 200, ms: 1_000 };

/** The batch that is being filled. */
class Loading {
  readonly #deps: WebsiteDeps;
  readonly #context: LoadContext & { start: string };
  /** What is known about pages that are being requested. */
  readonly #known = new Map<string, KnownDocument>();
  #documents: LoadedDocument[] = [];
  #found: { url: string; depth: number }[] = [];
  #visited: string[] = [];
  #forbidden: string[] = [];
  #textUnits = 0;
  #sinceMs = performance.now();

  constructor(deps: WebsiteDeps, context: LoadContext & { start: string }) {
    this.#deps = deps;
    this.#context = context;
  }

  async findKnown(urls: readonly string[]): Promise<Map<string, KnownPage>> {
    const known = await this.#context.findKnown(urls);
    for (const [url, document] of known) this.#known.set(url, document);
    return new Map([...known].map(([url, document]) => [url, toKnownPage(document)]));
  }

  async add(step: CrawlStep): Promise<void> {
    if (step.type === 'end') return;
    this.#found.push(...step.found);
    if (step.type === 'found') return;
    const { page, visited } = step;
    this.#visited.push(...visited);
    if (page.kind === 'skipped' && page.reason === 'robots') this.#forbidden.push(page.url);
    const document = await this.#toDocument(page);
    for (const url of [page.url, ...visited]) this.#known.delete(url);
    if (document === null) return;
    this.#documents.push(document);
    this.#textUnits += document.kind === 'text' ? document.text.length : 0;
  }

  isFull(): boolean {
    return (
      this.#documents.length >= full.documents ||
      this.#textUnits >= full.textUnits ||
      this.#found.length >= full.found ||
      this.#forbidden.length >= full.forbidden ||
      performance.now() - this.#sinceMs >= full.ms
    );
  }

  async flush(step: CrawlStep): Promise<DocumentBatch> {
    const documents = [...this.#documents, ...(await this.#forbiddenDocuments())];
    const frontier = { found: this.#found, visited: this.#visited };
    const end =
      step.type === 'end' ? { end: { isComplete: step.isComplete, reason: storableText(step.reason) } } : {};
    this.#documents = [];
    this.#found = [];
    this.#visited = [];
    this.#forbidden = [];
    this.#textUnits = 0;
    this.#sinceMs = performance.now();
    return { documents, cursor: { progress: step.progress }, frontier, ...end };
  }

  async #toDocument(page: CrawledPage): Promise<LoadedDocument | null> {
    const uri = page.url;
    const known = this.#known.get(uri);
    switch (page.kind) {
      case 'page':
        return this.#read(page, known);
      case 'unchanged':
        return { kind: 'unchanged', uri, etag: page.memo, lastModified: page.lastModified };
      case 'gone':
        // A broken link never was a document.
        return known === undefined ? null : { kind: 'gone', uri };
      case 'skipped':
        // The page asks not to be indexed.
        return known !== undefined && page.reason === 'noindex' ? { kind: 'gone', uri } : null;
      case 'failed':
        return errorDocument(uri, page.code, page.message);
    }
  }

  async #read(page: ReadPage, known: KnownDocument | undefined): Promise<LoadedDocument> {
    const { url: uri, bytes, mediaType } = page;
    const result = await readDocument(
      { bytes, name: nameOf(uri), mediaType, ...(isHtml(mediaType) ? { kind: 'html' as const } : {}) },
      {
        signal: this.#context.signal,
        limits: { maxBytes: this.#deps.maxFileBytes ?? maxPageBytes, ocr: this.#deps.ocr ?? null },
      },
    );
    if (result.kind === 'error') return errorDocument(uri, result.code, result.message, result.title);
    const validators = { etag: page.memo, lastModified: page.lastModified };
    const document = loadedDocument(result, { uri, ...validators });
    const isSame = document.kind === 'text' && document.contentHash === known?.contentHash;
    return isSame ? { kind: 'unchanged', uri, ...validators } : document;
  }

  /**
   * Pages that were allowed before keep their state, with the reason as an error; so does the start page. Other
   * forbidden pages are not reported.
   */
  async #forbiddenDocuments(): Promise<LoadedDocument[]> {
    if (this.#forbidden.length === 0) return [];
    const known = await this.#context.findKnown(this.#forbidden);
    const title = crawlErrors.definitions.robots_forbidden.title;
    return this.#forbidden
      .filter((url) => url === this.#context.start || (known.get(url)?.contentHash ?? null) !== null)
      .map((url) => errorDocument(url, 'robots_forbidden', `${title}: ${url}`));
  }
}

function listKnownOf({ listKnown }: LoadContext) {
  if (listKnown === undefined) return undefined;
  return async (page: { after: string | null; limit: number }) => {
    const documents = await listKnown(page);
    return documents.map((document) => ({ url: document.uri, ...toKnownPage(document) }));
  };
}

/** The memo of the crawl is stored in place of the server's ETag, which it contains. */
function toKnownPage({ contentHash, etag }: KnownDocument): KnownPage {
  return { contentHash, memo: etag };
}

function errorDocument(uri: string, code: string, message: string, title = titleOf(uri)): LoadedDocument {
  return {
    kind: 'error',
    uri: storableText(uri),
    title: storableTitle(title),
    code,
    message: storableText(message),
  };
}

function titleOf(url: string): string {
  return url.replace(/^https?:\/\//, '').replace(/\/$/, '');
}

/** The name of a page without a title; its extension tells the kind of document. */
function nameOf(url: string): string {
  const { pathname, hostname } = new URL(url);
  const last = pathname.split('/').findLast((segment) => segment !== '');
  return last === undefined ? hostname : decode(last);
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    // Not UTF-8: the encoded name will do.
    return segment;
  }
}

function isHtml(mediaType: string): boolean {
  return /^\s*(text\/html|application\/xhtml\+xml)\s*(;|$)/i.test(mediaType);
}
