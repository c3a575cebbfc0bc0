import { type CrawlOptions, crawl, newProgress } from '../../../kernel/crawl/crawl.ts';
import { normalisePageUrl } from '../../../kernel/crawl/page-url.ts';
import { Scope } from '../../../kernel/crawl/scope.ts';
import { walkSitemaps } from '../../../kernel/crawl/sitemap-walk.ts';
import {
  type CrawledPage,
  type CrawlProgress,
  defaultCrawlBounds,
  type FoundPage,
} from '../../../kernel/crawl/types.ts';
import { pageTypes } from '../../../kernel/house/doors.ts';
import type { CrawlSettings, NewReference, ScrapeSource } from '../types.ts';
import { feedSteps, requestsOf } from './feed-steps.ts';

/** One step of a crawl of a website, a sitemap or a feed. */
export interface ScrapeStep {
  page?: CrawledPage;
  /** Feeds only: an entry that is still to be converted to text. */
  entry?: FeedReference;
  /** Why an entry cannot be stored, or a feed cannot be read. */
  failure?: string;
  found?: readonly FoundPage[];
  visited?: readonly string[];
  progress: CrawlProgress | null;
  /** Only in the last step. */
  end?: { isComplete: boolean; reason: string };
}

export type FeedReference = Omit<NewReference, 'content' | 'mediaType' | 'memo'> & { html: string };

export interface CrawlTools
  extends Pick<CrawlOptions, 'fetch' | 'signal' | 'wait' | 'findKnown' | 'listKnown'>,
    Partial<Pick<CrawlOptions, 'bounds'>> {}

/** Where the previous slice of the crawl stopped. */
export interface CrawlPlace extends Pick<CrawlOptions, 'frontier' | 'progress' | 'missed'> {
  wasComplete: boolean;
}

export const defaultCrawlSettings: CrawlSettings = {
  maxPages: 500,
  maxDepth: 5,
  include: [],
  exclude: [],
  sitemap: true,
};

export function crawlSteps(
  source: ScrapeSource,
  tools: CrawlTools,
  place: CrawlPlace,
): AsyncGenerator<ScrapeStep> {
  const settings = { ...defaultCrawlSettings, ...source.settings };
  const start = normalisePageUrl(source.url ?? '');
  if (start === null) return refusal(`A crawl cannot start at ${source.url}`);
  if (source.kind === 'feed') return feedSteps(start.href, settings, tools, place);
  if (source.kind === 'sitemap') return sitemapSteps(start.href, settings, tools, place);
  return websiteSteps(start.href, { ...settings, useSitemap: settings.sitemap }, tools, place);
}

async function* refusal(reason: string): AsyncGenerator<ScrapeStep> {
  yield { failure: reason, progress: null, end: { isComplete: false, reason } };
}

async function* websiteSteps(
  start: string,
  settings: CrawlSettings & { useSitemap: boolean },
  tools: CrawlTools,
  place: CrawlPlace,
): AsyncGenerator<ScrapeStep> {
  const { maxPages, maxDepth, include, exclude, useSitemap } = settings;
  const steps = crawl({
    ...tools,
    ...place,
    start,
    scope: { include, exclude },
    useSitemap,
    bounds: { maxPages, maxDepth, ...tools.bounds },
    accepts: (mediaType) => pageTypes.has(mediaType),
  });
  for await (const step of steps) {
    if (step.type !== 'end') yield step;
    else yield { progress: step.progress, end: { isComplete: step.isComplete, reason: step.reason } };
  }
}

/** Visits only the pages that a sitemap lists: links are not followed. */
async function* sitemapSteps(
  url: string,
  settings: CrawlSettings,
  tools: CrawlTools,
  place: CrawlPlace,
): AsyncGenerator<ScrapeStep> {
  const crawlOnly = { ...settings, maxDepth: 0, useSitemap: false };
  if (place.progress !== null) {
    yield* websiteSteps(url, crawlOnly, tools, place);
    return;
  }
  const { pages, gap } = await readSitemaps(url, settings, tools);
  const progress: CrawlProgress = {
    ...newProgress({}),
    origin: new URL(url).origin,
    isSitemapRead: true,
    gap,
  };
  yield { found: pages, progress, ...(gap !== null && pages.length === 0 ? { failure: gap } : {}) };
  const frontier = pages.map((page) => ({ ...page, isVisited: false }));
  yield* websiteSteps(url, crawlOnly, tools, { ...place, frontier, progress });
}

async function readSitemaps(
  url: string,
  { maxPages, include, exclude }: CrawlSettings,
  tools: CrawlTools,
): Promise<{ pages: FoundPage[]; gap: string | null }> {
  const scope = new Scope(url, { include, exclude });
  const found = new Map<string, FoundPage>();
  let isMore = false;
  const { isTruncated, failures } = await walkSitemaps({
    requests: requestsOf(tools),
    start: [url],
    maxSitemaps: defaultCrawlBounds.maxSitemaps,
    isAllowed: (other) => scope.isOnHost(other),
    take: (entry) => {
      const page = scope.pageOf(entry.url, url);
      if (page !== null && found.size < maxPages) found.set(page.href, { url: page.href, depth: 0 });
      else if (page !== null && !found.has(page.href)) isMore = true;
      return !isMore;
    },
  });
  const pages = [...found.values()];
  const tooMany = `The sitemap has more pages than the limit of this crawl, ${maxPages}`;
  const none = `${url} lists no page of its own host; it may not be a sitemap`;
  const gap = failures[0] ?? (isMore || isTruncated ? tooMany : pages.length === 0 ? none : null);
  return { pages, gap };
}
