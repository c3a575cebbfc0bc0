/** A page that a crawl has heard of; in the order in which they were found. */
export interface FoundPage {
  url: string;
  /** How many links away from the start. */
  depth: number;
}

export interface FrontierPage extends FoundPage {
  isVisited: boolean;
}

/** What is known of a page from an earlier crawl. */
export interface KnownPage {
  /** Null when nothing was ever read from it. */
  contentHash: string | null;
  /** As a crawl gave it with the page; null when there is none. */
  memo: string | null;
}

export const skipReasons = ['robots', 'noindex', 'media_type', 'duplicate', 'out_of_scope'] as const;
export type SkipReason = (typeof skipReasons)[number];

export interface ReadPage {
  kind: 'page';
  url: string;
  /** As the answer says it, with its parameters. */
  mediaType: string;
  bytes: Buffer;
  etag: string | null;
  lastModified: string | null;
  /** For the next crawl: store it with the page and give it back in `KnownPage`. */
  memo: string | null;
}

/** A failed page is what it was before; `message` is a sentence for people. */
export interface FailedPage {
  kind: 'failed';
  url: string;
  code: string;
  message: string;
  /** Another time it may work. */
  isTransient: boolean;
}

export type CrawledPage =
  | ReadPage
  /** The server says so. Its memo is still good. */
  | { kind: 'unchanged'; url: string; memo: string | null; lastModified: string | null }
  /** 404 or 410. */
  | { kind: 'gone'; url: string }
  | { kind: 'skipped'; url: string; reason: SkipReason }
  | FailedPage;

/**
 * How far a crawl has come, beside its frontier: plain values, to be stored with it. Made and read by the crawl alone.
 */
export interface CrawlProgress {
  /** Where the site is, if its start has redirected; null before the start was read. */
  origin: string | null;
  isSitemapRead: boolean;
  /** Pages may keep their links to themselves when they have not changed: all of them are known. */
  areLinksKnown: boolean;
  /** The last known page that was looked at for not having been found; null before the first. */
  knownAfter: string | null;
  failed: number;
  failedInRow: number;
  skipped: Partial<Record<SkipReason, number>>;
  /** Why pages may exist that this crawl has not seen; null as long as there is no reason. */
  gap: string | null;
}

/** One step of a crawl. What it found and visited is stored together with what is made of its page. */
export type CrawlStep =
  | { type: 'visit'; page: CrawledPage; found: FoundPage[]; visited: string[]; progress: CrawlProgress }
  | { type: 'found'; found: FoundPage[]; progress: CrawlProgress }
  /** The last one. `isComplete`: every page of the site within the bounds was seen. */
  | { type: 'end'; isComplete: boolean; reason: string; progress: CrawlProgress };

export interface CrawlBounds {
  /** Addresses that are asked for; links beyond are forgotten, and the crawl is not complete. */
  maxPages: number;
  maxDepth: number;
  maxPageBytes: number;
  maxLinksPerPage: number;
  /** Different queries of one path: calendars and filters never end. */
  maxQueriesPerPath: number;
  maxRedirects: number;
  maxSitemaps: number;
  requestsInFlight: number;
  timeoutMs: number;
  /** Between the beginnings of two requests. */
  delayMs: number;
  /** The most that a Crawl-delay of robots.txt is followed. */
  maxCrawlDelayMs: number;
  /** One retry after each. */
  retryDelaysMs: readonly number[];
  /** A page that asks for a longer pause has failed. */
  maxRetryAfterMs: number;
  /** The site is down: more failures in a row end the crawl. */
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
