import { setImmediate } from 'node:timers/promises';
import type { GuardedFetch } from '../../lib/fetch/guarded-fetch.ts';
import { Frontier } from './frontier.ts';
import { readMemo, rulesHash, writeMemo } from './memo.ts';
import { PoliteRequests, type RequestFailure, type Wait } from './polite-requests.ts';
import { loadRobots, openRobots, type Robots } from './robots.ts';
import { Scope, type ScopeRules } from './scope.ts';
import { walkSitemaps } from './sitemap-walk.ts';
import {
  type CrawlBounds,
  type CrawledPage,
  type CrawlProgress,
  type CrawlStep,
  defaultCrawlBounds,
  type FoundPage,
  type FrontierPage,
  type KnownPage,
} from './types.ts';
import {
  type FindKnown,
  KnownPages,
  type SiteRules,
  type Visit,
  type VisitContext,
  visitPage,
} from './visit.ts';

export interface CrawlOptions {
  /** Normalised with `normalisePageUrl`. */
  start: string;
  scope: ScopeRules;
  useSitemap: boolean;
  bounds: Partial<CrawlBounds>;
  /** Which media types (without parameters) are read. Links are found in HTML only. */
  accepts(mediaType: string): boolean;
  fetch: GuardedFetch;
  /** What earlier steps of this crawl have found, in that order; empty at the start. */
  frontier: readonly FrontierPage[];
  progress: CrawlProgress | null;
  findKnown: FindKnown;
  /** Lists all pages that an earlier crawl has read, by URL, after `after`. */
  listKnown?(page: { after: string | null; limit: number }): Promise<(KnownPage & { url: string })[]>;
  /** Whether the previous crawl ended and was complete. Only read at the start of a crawl. */
  wasComplete?: boolean;
  /** Of a previous crawl that was not complete: the pages that it missed, if it knew them all. */
  missed?: readonly FoundPage[] | null;
  signal: AbortSignal;
  wait?: Wait;
}

/**
 * Crawls a site breadth first, in the order in which pages are found. Several requests run at once, but their results
 * come in order. So a crawl can stop after any step, and continue later from what its steps have found and visited.
 */
export async function* crawl(options: CrawlOptions): AsyncGenerator<CrawlStep, void> {
  const giveUp = new AbortController();
  const onAbort = () => giveUp.abort(options.signal.reason);
  if (options.signal.aborted) onAbort();
  options.signal.addEventListener('abort', onAbort, { once: true });
  try {
    yield* new Crawl(options, giveUp.signal).steps();
  } finally {
    options.signal.removeEventListener('abort', onAbort);
    giveUp.abort();
  }
}

const knownPageSize = 500;
/** They are stored with every step; a crawl that misses more begins from what the pages say. */
const maxMissed = 200;

/** The URL is null for a link to something that this crawl does not visit. */
interface LinkedPage {
  url: URL | null;
  depth: number;
}

class Crawl {
  readonly #options: CrawlOptions;
  readonly #bounds: CrawlBounds;
  readonly #progress: CrawlProgress;
  readonly #requests: PoliteRequests;
  readonly #frontier: Frontier;
  readonly #visits: VisitContext;
  readonly #forbidden = new Set<string>();
  readonly #pausedBeforeMs: number;
  #requestsInFlight: number;
  #site: SiteRules;
  #isStopped = false;

  constructor(options: CrawlOptions, signal: AbortSignal) {
    const bounds = { ...defaultCrawlBounds, ...options.bounds };
    this.#options = options;
    this.#bounds = bounds;
    this.#progress = structuredClone(options.progress) ?? newProgress(options);
    this.#pausedBeforeMs = this.#progress.pausedMs ?? 0;
    this.#requestsInFlight = bounds.requestsInFlight;
    this.#requests = new PoliteRequests({ fetch: options.fetch, bounds, signal, wait: options.wait });
    this.#frontier = new Frontier(bounds, options.frontier);
    const scope = new Scope(this.#progress.origin ?? options.start, options.scope);
    this.#site = { scope, robots: openRobots, rules: '' };
    this.#visits = {
      site: () => this.#site,
      moveTo: (url) => this.#moveTo(url),
      requests: this.#requests,
      frontier: this.#frontier,
      known: new KnownPages(options.findKnown),
      bounds,
      accepts: options.accepts,
      areLinksKnown: this.#progress.areLinksKnown,
      displaced: new Set(),
    };
  }

  async *steps(): AsyncGenerator<CrawlStep, void> {
    const failure = await this.#readRobots();
    if (failure !== null) {
      const message = `The robots.txt of ${this.#site.scope.origin} cannot be read: ${failure.message}`;
      const code = failure.isTransient ? 'robots_unreachable' : failure.code;
      const { isTransient } = failure;
      const page: CrawledPage = { kind: 'failed', url: this.#options.start, code, message, isTransient };
      this.#count(page);
      this.#noteGap(message);
      yield { type: 'visit', page, found: [], visited: [], progress: this.#snapshot() };
    } else {
      yield* this.#visitStart();
      yield* this.#offerMissed();
      if (this.#options.useSitemap && !this.#progress.isSitemapRead) yield await this.#readSitemaps();
      yield* this.#visitFound();
      yield* this.#visitKnown();
    }
    yield this.#end();
  }

  async *#visitStart(): AsyncGenerator<CrawlStep, void> {
    const { start } = this.#options;
    if (this.#progress.origin !== null) return;
    // The start is visited first, even if the path rules exclude it: links have to come from somewhere.
    const page = { url: start, depth: 0 };
    this.#frontier.markKnown(start);
    const visit = await visitPage(this.#visits, page, true);
    this.#progress.origin = this.#site.scope.origin;
    yield* this.#finishVisit(visit, [page]);
  }

  /** An unchanged page does not show its links, so what failed behind it last time is asked for by itself. */
  async *#offerMissed(): AsyncGenerator<CrawlStep, void> {
    const { missed } = this.#options;
    if (!missed || missed.length === 0 || this.#progress.areMissedOffered) return;
    const { origin } = this.#site.scope;
    const pages = missed.map(({ url, depth }) => ({ url: this.#site.scope.pageOf(url, origin), depth }));
    const { found } = await this.#offer(pages);
    this.#progress.areMissedOffered = true;
    yield { type: 'found', found, progress: this.#snapshot() };
  }

  async *#visitFound(): AsyncGenerator<CrawlStep, void> {
    const underWay: Promise<Visit>[] = [];
    while (!this.#isStopped) {
      while (underWay.length < this.#requestsInFlight) {
        const page = this.#frontier.take();
        if (page === null) break;
        const visit = visitPage(this.#visits, page, false);
        // Its failure is handled when the visit is awaited; until then it must not count as unhandled.
        visit.catch(() => {});
        underWay.push(visit);
      }
      const next = underWay.shift();
      if (next === undefined) return;
      yield* this.#finishVisit(await next, []);
    }
  }

  /** Visits pages of earlier crawls that this one did not find: only a request shows whether they are gone. */
  async *#visitKnown(): AsyncGenerator<CrawlStep, void> {
    const { listKnown } = this.#options;
    if (listKnown === undefined) return;
    for (let hasMore = true; hasMore && !this.#isStopped; ) {
      const pages = await listKnown({ after: this.#progress.knownAfter, limit: knownPageSize });
      hasMore = pages.length === knownPageSize;
      const { found, forbidden } = await this.#offer(pages.map((page) => this.#knownPage(page)));
      this.#progress.knownAfter = pages.at(-1)?.url ?? this.#progress.knownAfter;
      yield { type: 'found', found, progress: this.#snapshot() };
      yield* this.#skipForbidden(forbidden);
      yield* this.#visitFound();
    }
  }

  /** A page that was never read has no memo. Following its links too far is better than losing them. */
  #knownPage({ url, memo }: KnownPage & { url: string }): LinkedPage {
    const depth = Math.min(readMemo(memo)?.depth ?? 1, this.#bounds.maxDepth);
    return { url: this.#site.scope.pageOf(url, this.#site.scope.origin), depth };
  }

  async #readSitemaps(): Promise<CrawlStep> {
    const pages: LinkedPage[] = [];
    const { origin } = this.#site.scope;
    const named = this.#site.robots.sitemaps;
    const { isTruncated, failures } = await walkSitemaps({
      requests: this.#requests,
      start: named.length > 0 ? named : [`${origin}/sitemap.xml`],
      maxSitemaps: this.#bounds.maxSitemaps,
      isAllowed: (url) => this.#site.scope.isOnHost(url),
      take: ({ url }) => {
        const page = this.#site.scope.pageOf(url, origin);
        if (page !== null) pages.push({ url: page, depth: Math.min(1, this.#bounds.maxDepth) });
        return pages.length <= this.#bounds.maxPages;
      },
    });
    const { found, isLost } = await this.#offer(pages);
    if (failures[0] !== undefined) this.#noteGap(failures[0]);
    if (isTruncated || isLost) this.#noteGap(this.#tooManyPages());
    this.#progress.isSitemapRead = true;
    return { type: 'found', found, progress: this.#snapshot() };
  }

  /** Offers the links of a visited page to the frontier, and yields its step. */
  async *#finishVisit(visit: Visit, also: FoundPage[]): AsyncGenerator<CrawlStep, void> {
    const { asked, redirectedTo } = visit;
    const { found, forbidden, isLost } = await this.#offer(this.#linkedPages(visit));
    if (isLost) this.#noteGap(this.#tooManyPages());
    if (visit.links?.isTruncated) this.#noteGap(`${asked.url} has more links than a crawl reads`);
    if (visit.gap !== null) this.#noteGap(visit.gap, visit.page.kind === 'failed' ? asked : null);
    const page = this.#withMemo(visit);
    this.#count(page);
    const here = [...also, ...redirectedTo.map((url) => ({ url, depth: asked.depth }))];
    const visited = [asked.url, ...redirectedTo];
    yield { type: 'visit', page, found: [...here, ...found], visited, progress: this.#snapshot() };
    yield* this.#skipForbidden(forbidden);
  }

  *#linkedPages({ asked: { depth }, links, canonical }: Visit): Generator<LinkedPage> {
    if (canonical !== null) yield { url: new URL(canonical), depth };
    if (links === null || depth >= this.#bounds.maxDepth) return;
    for (const href of links.hrefs)
      yield { url: this.#site.scope.pageOf(href, links.base), depth: depth + 1 };
  }

  async #offer(pages: Iterable<LinkedPage>) {
    const found: FoundPage[] = [];
    const forbidden: string[] = [];
    let isLost = false;
    let checked = 0;
    // Each link is checked against each rule of robots.txt. With many of both, other work must get a turn in between.
    const linksPerTurn = Math.max(
      16,
      Math.min(1_000, Math.floor(1_000_000 / (this.#site.robots.ruleCount + 1))),
    );
    for (const { url, depth } of pages) {
      checked += 1;
      if (checked % linksPerTurn === 0) await setImmediate();
      if (url === null || this.#frontier.has(url.href) || this.#forbidden.has(url.href)) continue;
      if (!this.#site.robots.allows(url)) {
        if (this.#forbidden.size < this.#bounds.maxPages) {
          this.#forbidden.add(url.href);
          forbidden.push(url.href);
        }
        continue;
      }
      const offer = this.#frontier.offer({ url: url.href, depth });
      if (offer === 'added') found.push({ url: url.href, depth });
      if (offer === 'full') isLost = true;
    }
    return { found, forbidden, isLost };
  }

  *#skipForbidden(urls: string[]): Generator<CrawlStep, void> {
    for (const url of urls) {
      const page: CrawledPage = { kind: 'skipped', url, reason: 'robots' };
      this.#count(page);
      yield { type: 'visit', page, found: [], visited: [], progress: this.#snapshot() };
    }
  }

  #withMemo({ page, asked }: Visit): CrawledPage {
    const now = { depth: asked.depth, rules: this.#site.rules };
    if (page.kind === 'unchanged') {
      const memo = readMemo(page.memo);
      return { ...page, memo: memo === null ? null : writeMemo({ ...memo, ...now }) };
    }
    if (page.kind !== 'page') return page;
    const { etag, lastModified } = page;
    return { ...page, memo: writeMemo({ ...now, etag, lastModified }) };
  }

  async #readRobots(): Promise<RequestFailure | null> {
    const { scope } = this.#site;
    const robots = await loadRobots(this.#requests, scope.origin);
    if ('kind' in robots) return robots;
    this.#site = { scope, robots, rules: this.#rulesOf(scope, robots) };
    if (robots.crawlDelayMs !== null && robots.crawlDelayMs > 0) {
      this.#requests.slowDownTo(Math.min(robots.crawlDelayMs, this.#bounds.maxCrawlDelayMs));
      this.#requestsInFlight = 1;
    }
    return null;
  }

  async #moveTo(url: URL): Promise<RequestFailure | null> {
    this.#site.scope.moveTo(url);
    return this.#readRobots();
  }

  #rulesOf({ origin }: Scope, { rulesText }: Robots): string {
    const { scope, useSitemap } = this.#options;
    return rulesHash({ origin, rulesText, scope, useSitemap, maxDepth: this.#bounds.maxDepth });
  }

  #count(page: CrawledPage): void {
    const progress = this.#progress;
    if (page.kind === 'failed') {
      progress.failed += 1;
      progress.failedInRow = page.isTransient ? progress.failedInRow + 1 : 0;
      if (progress.failedInRow < this.#bounds.maxFailuresInRow) return;
      progress.gap = `${progress.failedInRow} pages in a row failed; the last one: ${page.message}`;
      progress.missed = null;
      this.#isStopped = true;
      return;
    }
    if (page.kind !== 'skipped') progress.failedInRow = 0;
    else progress.skipped[page.reason] = (progress.skipped[page.reason] ?? 0) + 1;
  }

  /** `missed`: the one page that is missing because of it; null when it may be any. */
  #noteGap(reason: string, missed: FoundPage | null = null): void {
    this.#progress.gap ??= reason.slice(0, 1_000);
    const before = this.#progress.missed;
    const isBounded = missed !== null && before !== null && (before?.length ?? 0) < maxMissed;
    this.#progress.missed = isBounded ? [...(before ?? []), missed] : null;
  }

  #tooManyPages(): string {
    return `The site has more pages than the limit of this crawl, ${this.#bounds.maxPages}`;
  }

  #snapshot(): CrawlProgress {
    const { delayMs, pausedMs } = this.#requests;
    return { ...structuredClone(this.#progress), delayMs, pausedMs: this.#pausedBeforeMs + pausedMs };
  }

  #end(): CrawlStep {
    const { gap, failed, skipped } = this.#progress;
    const left = Object.entries(skipped).map(([reason, count]) => `${count} ${reason}`);
    const reason = [
      gap === null ? 'All pages were visited' : `Not all pages were visited: ${gap}`,
      ...(failed > 0 ? [`${failed} pages failed`] : []),
      ...(left.length > 0 ? [`left out: ${left.join(', ')}`] : []),
    ].join('; ');
    return { type: 'end', isComplete: gap === null, reason, progress: this.#snapshot() };
  }
}

/** Of a crawl that has not begun. */
export function newProgress(
  options: Pick<CrawlOptions, 'wasComplete' | 'missed' | 'listKnown'>,
): CrawlProgress {
  const { wasComplete = false, missed = null, listKnown } = options;
  return {
    origin: null,
    isSitemapRead: false,
    areLinksKnown: (wasComplete || missed !== null) && listKnown !== undefined,
    knownAfter: null,
    failed: 0,
    failedInRow: 0,
    skipped: {},
    gap: null,
  };
}
