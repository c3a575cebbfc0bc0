import type { CrawlProgress, FoundPage, ReadPage } from '../../../kernel/crawl/types.ts';
import { storable } from '../../../lib/well-formed.ts';
import { inLockOrder } from '../handoffs/payload.ts';
import type { ScrapeMetrics } from '../metrics.ts';
import type { Brought } from '../runs/persist.ts';
import type { KnowledgeDoor, NewReference, PageText } from '../types.ts';
import type { ScrapeStep } from './steps.ts';

/** A batch is stored when it is this large, or after a while: a slow site must not hold up finished pages. */
const full = { pages: 32, textUnits: 1024 * 1024, found: 2_000, ms: 2_000 };
const maxIdBytes = 1_500;
const maxTitle = 1_000;

/** Collects what the steps since the last commit have found. */
export class CrawlBatch {
  readonly #knowledge: KnowledgeDoor;
  readonly #metrics: ScrapeMetrics;
  readonly #signal: AbortSignal;
  readonly #sinceMs = performance.now();
  #references: NewReference[] = [];
  readonly #unchanged: { externalId: string; memo: string | null }[] = [];
  readonly #gone: string[] = [];
  readonly found: FoundPage[] = [];
  readonly visited: string[] = [];
  pagesFailed = 0;
  /** The reason of the first failure. */
  reason: string | null = null;
  progress: CrawlProgress | null = null;
  end: ScrapeStep['end'];
  #textUnits = 0;

  constructor(deps: { knowledge: KnowledgeDoor; metrics: ScrapeMetrics; signal: AbortSignal }) {
    this.#knowledge = deps.knowledge;
    this.#metrics = deps.metrics;
    this.#signal = deps.signal;
  }

  brought(): Brought {
    return { references: inLockOrder(this.#references), unchanged: this.#unchanged, gone: this.#gone };
  }

  /** A slice that ended without progress would be repeated for ever. */
  hasProgress(): boolean {
    return this.visited.length > 0 || this.found.length > 0;
  }

  isFull(): boolean {
    return (
      this.#references.length + this.#unchanged.length + this.#gone.length >= full.pages ||
      this.#textUnits >= full.textUnits ||
      this.found.length >= full.found ||
      performance.now() - this.#sinceMs >= full.ms
    );
  }

  async add(step: ScrapeStep): Promise<void> {
    this.found.push(...(step.found ?? []));
    this.visited.push(...(step.visited ?? []));
    this.progress = step.progress;
    this.end = step.end;
    if (step.failure !== undefined) this.#fail(step.failure);
    if (step.entry) {
      const { html, ...entry } = step.entry;
      const bytes = Buffer.from(`<!doctype html><html><body>${html}</body></html>`);
      const text = await this.#read({
        bytes,
        name: entry.title,
        mediaType: 'text/html; charset=utf-8',
        isHtml: true,
      });
      this.#keep({ ...entry, title: entry.title || text.title, memo: null }, text);
    }
    if (step.page) await this.#addPage(step.page);
  }

  async #addPage(page: NonNullable<ScrapeStep['page']>): Promise<void> {
    const { url } = page;
    switch (page.kind) {
      case 'page':
        return this.#readPage(page);
      case 'unchanged':
        this.#unchanged.push({ externalId: url, memo: page.memo });
        break;
      case 'gone':
        this.#gone.push(url);
        break;
      case 'skipped':
        // The page itself asks to be in no index.
        if (page.reason === 'noindex') this.#gone.push(url);
        break;
      case 'failed':
        return this.#fail(page.message);
    }
    this.#metrics.page(page.kind);
  }

  async #readPage({ url, bytes, mediaType, memo }: ReadPage): Promise<void> {
    if (Buffer.byteLength(url) > maxIdBytes)
      return this.#fail(`The address ${url} is longer than ${maxIdBytes} bytes`);
    const isHtml = /^\s*(text\/html|application\/xhtml\+xml)\s*(;|$)/i.test(mediaType);
    const text = await this.#read({ bytes, name: nameOf(url), mediaType, isHtml });
    const metadata = { media_type: mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? '' };
    this.#keep({ externalId: url, url, title: text.title, metadata, memo }, text);
  }

  #read(page: Parameters<KnowledgeDoor['readPage']>[0]): Promise<PageText> {
    return this.#knowledge.readPage(page, this.#signal);
  }

  #keep(reference: Omit<NewReference, 'content' | 'mediaType'>, text: PageText): void {
    if (text.kind === 'error') {
      this.#fail(`${reference.url}: ${text.message}`);
      return;
    }
    const content = text.kind === 'text' ? text.text : '';
    const title = storable(reference.title).slice(0, maxTitle);
    this.#references.push({ ...reference, title, content, mediaType: 'text/markdown' });
    this.#textUnits += content.length;
    this.#metrics.page(text.kind === 'text' ? 'read' : 'empty');
  }

  #fail(reason: string): void {
    this.pagesFailed += 1;
    this.reason ??= storable(reason).slice(0, 1_000);
    this.#metrics.page('failed');
  }
}

/** The name of a page without a title. */
function nameOf(url: string): string {
  const { pathname, hostname } = new URL(url);
  return pathname.split('/').findLast((segment) => segment !== '') ?? hostname;
}
