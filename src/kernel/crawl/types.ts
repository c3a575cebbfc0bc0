/** A page that a crawl knows of. */
export interface FoundPage {
  url: string;
  /** Number of links from the start page. */
  depth: number;
}

export interface FrontierPage extends FoundPage {
  isVisited: boolean;
}

/** What is known of a page from an earlier crawl. */
export interface KnownPage {
  /** Null if the page was never read. */
  contentHash: string | null;
  /** As an earlier crawl returned it with the page. */
  memo: string | null;
}

export const skipReasons = ['robots', 'noindex', 'media_type', 'duplicate', 'out_of_scope'] as const;
export type SkipReason = (typeof skipReasons)[number];

export interface ReadPage {
  kind: 'page';
  url: string;
  /** As in the response, with parameters. */
  mediaType: string;
  bytes: Buffer;
  etag: string | null;
  lastModified: string | null;
  /** For the next crawl: store it with the page and pass it on in `KnownPage`. */
  memo: string | null;
}

/** A failed page keeps its earlier state; `message` is a sentence for people. */
export interface FailedPage {
  kind: 'failed';
  url: string;
  code: string;
  message: string;
  /** A later attempt may succeed. */
  isTransient: boolean;
}

export type CrawledPage =
  | ReadPage
  /** The server says that it has not changed. The memo stays valid. */
  | { kind: 'unchanged'; url: string; memo: string | null; lastModified: string | null }
  /** 404 or 410. */
  | { kind: 'gone'; url: string }
  | { kind: 'skipped'; url: string; reason: SkipReason }
  | FailedPage;

/**
 * How far a crawl has come, apart from its frontier. Plain values to store with it; only the crawl itself reads them.
 */
export interface CrawlProgress {
  /** The origin of the site, after redirects of the start; null before the start was read. */
  origin: string | null;
  isSitemapRead: boolean;
  /** Whether all links of unchanged pages are known, so that a page may answer 304 and hide its links. */
  areLinksKnown: boolean;
  /** The last page of earlier crawls that was checked because this crawl did not find it. */
  knownAfter: string | null;
  failed: number;
  failedInRow: number;
  skipped: Partial<Record<SkipReason, number>>;
  /** Why pages may exist that this crawl did not visit; null if all were visited so far. */
  gap: string | null;
  /**
   * Pages that failed and are to be asked for again. Null when pages may be missing that nobody knows of: too many, a
   * sitemap that cannot be read, a site that is down.
   */
  missed?: FoundPage[] | null;
  /** Between the starts of two requests: what the site's robots.txt asks for, or our own least pause. */
  delayMs?: number;
  /** How long all requests together have paused because the site sent Retry-After. */
  pausedMs?: number;
  /** Whether the pages that the previous crawl missed are in the frontier. */
  areMissedOffered?: boolean;
}

/** One step of a crawl. What it found and visited is stored in one transaction with the result of its page. */
export type CrawlStep =
  | { type: 'visit'; page: CrawledPage; found: FoundPage[]; visited: string[]; progress: CrawlProgress }
  | { type: 'found'; found: FoundPage[]; progress: CrawlProgress }
  /** The last step. `isComplete`: every page of the site within the bounds was visited. */
  | { type: 'end'; isComplete: boolean; reason: string; progress: CrawlProgress };

export interface CrawlBounds {
  /** Addresses that are requested. Links beyond it are dropped, and the crawl is then incomplete. */
  maxPages: number;
  maxDepth: number;
  maxPageBytes: number;
  maxLinksPerPage: number;
  /** Different queries of one path: calendars and filters are endless. */
  maxQueriesPerPath: number;
  maxRedirects: number;
  maxSitemaps: number;
  requestsInFlight: number;
  timeoutMs: number;
  /** Between the starts of two requests. */
  delayMs: number;
  /** The longest Crawl-delay of robots.txt that is respected. */
  maxCrawlDelayMs: number;
  /** One retry after each. */
  retryDelaysMs: readonly number[];
  /** A response that asks for a longer pause is a failure. */
  maxRetryAfterMs: number;
  /** After so many failures in a row the site counts as down, and the crawl ends. */
  maxFailuresInRow: number;
}

export const defaultCrawlBounds: CrawlBounds = {
  maxPages: 500,
  maxDepth: 5,
  maxPageBytes: 10 * 1024 * 1024,
  maxLinksPerPage: 20_000,
  maxQueriesPerPath: 500,
  maxRedirects: 5,
  maxSitemaps: 50,
  requestsInFlight: 4,
  timeoutMs: 20_000,
  delayMs: 50,
  maxCrawlDelayMs: 10_000,
  retryDelaysMs: [1_000, 4_000],
  maxRetryAfterMs: 30_000,
  maxFailuresInRow: 10,
};
