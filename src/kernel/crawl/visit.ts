import type { Readable } from 'node:stream';
import type { FetchAnswer } from '../../lib/fetch/guarded-fetch.ts';
import { type CrawlErrorCode, crawlErrors } from './errors.ts';
import type { Frontier } from './frontier.ts';
import { decodeHtml, type PageLinks, readLinks } from './links.ts';
import { type Memo, printable, readMemo } from './memo.ts';
import { normalisePageUrl, redirectTarget } from './page-url.ts';
import { type PoliteRequests, type RequestFailure, readWhole } from './polite-requests.ts';
import type { Robots } from './robots.ts';
import { crawlerName } from './robots.ts';
import type { Scope } from './scope.ts';
import type { CrawlBounds, CrawledPage, FoundPage, KnownPage, ReadPage, SkipReason } from './types.ts';

/** The rules of the crawled site. */
export interface SiteRules {
  scope: Scope;
  robots: Robots;
  /** One text for all that decides which links are followed. */
  rules: string;
}

export interface VisitContext {
  site(): SiteRules;
  /** Called when the start redirects to another spelling of its host. */
  moveTo(url: URL): Promise<RequestFailure | null>;
  requests: PoliteRequests;
  frontier: Frontier;
  known: KnownPages;
  bounds: CrawlBounds;
  accepts(mediaType: string): boolean;
  /** Whether all pages that unchanged pages link to are known; those that are not found are requested anyway. */
  areLinksKnown: boolean;
  /** Pages that this crawl left out because another address stands for them. */
  displaced: Set<string>;
}

export interface Visit {
  asked: FoundPage;
  isStart: boolean;
  page: CrawledPage;
  /** The targets of its redirects, which count as visited with it. */
  redirectedTo: string[];
  links: PageLinks | null;
  /** The canonical address, which is read in its place. */
  canonical: string | null;
  /** Why this visit may have missed pages. */
  gap: string | null;
}

interface Hop {
  /** What is requested. */
  target: URL;
  /** The normalised address of the page. */
  url: string;
}

type Answer =
  | { kind: 'redirect'; status: number; location: string }
  | { kind: 'unchanged'; lastModified: string | null }
  | { kind: 'gone' }
  | { kind: 'refused'; status: number }
  | { kind: 'other_media' }
  | { kind: 'read'; page: Omit<ReadPage, 'url' | 'memo'>; robotsTag: string | undefined };

/** Requests one page, and follows redirects to other pages of this crawl. */
export async function visitPage(context: VisitContext, asked: FoundPage, isStart: boolean): Promise<Visit> {
  const visit: VisitDraft = { asked, isStart, redirectedTo: [] };
  const trail = new Set<string>();
  let hop: Hop = { target: new URL(asked.url), url: asked.url };
  while (trail.size <= context.bounds.maxRedirects && !trail.has(hop.target.href)) {
    trail.add(hop.target.href);
    if (!context.site().robots.allows(hop.target)) return skip(visit, hop.url, 'robots');
    const known = await context.known.find(hop.url, context.frontier.peek(aheadCount));
    const memo = usableMemo(context, asked, known);
    const answer = await context.requests.ask(hop.target.href, { headers: conditions(memo) }, (response) =>
      readAnswer(response, context.accepts),
    );
    if (answer.kind === 'failed') return fail(visit, hop.url, { ...answer, known });
    const { value } = answer;
    if (value.kind !== 'redirect') return settleAnswer(context, visit, { hop, known, memo, value });
    const next = await followRedirect(context, visit, { hop, known, ...value });
    if ('page' in next) return next;
    hop = next;
  }
  const message = `The redirects of ${asked.url} form a loop or are too many (${trail.size})`;
  return fail(visit, asked.url, { ...raised('redirect_loop', message), known: null });
}

type VisitDraft = Pick<Visit, 'asked' | 'isStart' | 'redirectedTo'>;

const aheadCount = 32;
const redirects = [301, 302, 303, 307, 308];
const permanentRedirects = [301, 308];

async function readAnswer(
  { status, headers, body }: FetchAnswer<Readable>,
  accepts: (mediaType: string) => boolean,
): Promise<Answer> {
  const { location } = headers;
  const lastModified = printable(headers['last-modified']);
  if (status === 304) return { kind: 'unchanged', lastModified };
  if (redirects.includes(status) && location !== undefined) return { kind: 'redirect', status, location };
  if (status === 404 || status === 410) return { kind: 'gone' };
  if (status < 200 || status >= 300) return { kind: 'refused', status };
  const mediaType = headers['content-type'] ?? 'text/html';
  if (!accepts(essence(mediaType))) return { kind: 'other_media' };
  const bytes = await readWhole(body);
  const page = { kind: 'page', mediaType, bytes, etag: printable(headers.etag), lastModified } as const;
  return { kind: 'read', page, robotsTag: headers['x-robots-tag'] };
}

/** The memo, if a 304 (not modified) would be enough for this page. */
function usableMemo(context: VisitContext, { depth }: FoundPage, known: KnownPage | null): Memo | null {
  const memo = readMemo(known?.memo ?? null);
  if (memo === null || known?.contentHash === null) return null;
  if (depth >= context.bounds.maxDepth) return memo;
  const wereLinksFollowed = memo.rules === context.site().rules && memo.depth <= depth;
  return context.areLinksKnown && wereLinksFollowed ? memo : null;
}

function conditions(memo: Memo | null): Record<string, string> {
  return {
    accept: 'text/html,application/xhtml+xml,*/*;q=0.5',
    ...(memo?.etag ? { 'if-none-match': memo.etag } : {}),
    ...(memo?.lastModified ? { 'if-modified-since': memo.lastModified } : {}),
  };
}

async function followRedirect(
  context: VisitContext,
  visit: VisitDraft,
  from: { hop: Hop; known: KnownPage | null; status: number; location: string },
): Promise<Hop | Visit> {
  const { hop, known, status } = from;
  const { scope } = context.site();
  const target = redirectTarget(from.location, hop.target.href);
  const url = target === null ? null : (normalisePageUrl(target.href)?.href ?? null);
  if (target === null || url === null) {
    const message = `${hop.url} redirects to an address that is not valid`;
    return fail(visit, hop.url, { ...raised('redirect_loop', message), known });
  }
  if (url === hop.url) return { target, url };
  if (visit.isStart && target.origin !== scope.origin && scope.canMoveTo(target)) {
    const failure = await context.moveTo(target);
    if (failure !== null) return fail(visit, url, { ...failure, known: null });
  } else if (!scope.isOnHost(target)) {
    const message = `${hop.url} redirects to another site, ${target.host}`;
    return fail(visit, hop.url, { ...raised('redirected_off_host', message), known });
  }
  if (hasContent(known) && !permanentRedirects.includes(status)) {
    const message = `${hop.url} had text before and now redirects temporarily (status ${status}) to another page`;
    return fail(visit, hop.url, { ...raised('redirected_for_now', message), known });
  }
  if (!visit.isStart && !scope.includes(target)) return skip(visit, url, 'out_of_scope');
  if (visit.asked.url === url || visit.redirectedTo.includes(url)) return { target, url };
  if (!context.frontier.markKnown(url)) return skip(visit, url, 'duplicate');
  visit.redirectedTo.push(url);
  return { target, url };
}

async function settleAnswer(
  context: VisitContext,
  visit: VisitDraft,
  given: {
    hop: Hop;
    known: KnownPage | null;
    memo: Memo | null;
    value: Exclude<Answer, { kind: 'redirect' }>;
  },
): Promise<Visit> {
  const { hop, known, value } = given;
  const { url } = hop;
  switch (value.kind) {
    case 'unchanged':
      return settleUnchanged(visit, url, { ...given, lastModified: value.lastModified });
    case 'gone': {
      if (!visit.isStart) return done(visit, { kind: 'gone', url });
      const message = `${url}, where the crawl starts, does not exist (404 or 410)`;
      return fail(visit, url, { ...raised('page_not_found', message), known });
    }
    case 'refused': {
      const message = `${hop.target.host} answered ${value.status} for ${url}`;
      return fail(visit, url, { ...raised('page_refused', message), known });
    }
    case 'other_media':
      return skip(visit, url, 'media_type');
    case 'read':
      return settleRead(context, visit, { url, target: hop.target, ...value });
  }
}

function settleUnchanged(
  visit: VisitDraft,
  url: string,
  { known, memo, lastModified }: { known: KnownPage | null; memo: Memo | null; lastModified: string | null },
): Visit {
  if (memo === null) {
    const message = `The site answered 304 (not modified) for ${url} to a request without a condition`;
    return fail(visit, url, { ...raised('page_refused', message), known });
  }
  const since = lastModified ?? memo.lastModified;
  return done(visit, { kind: 'unchanged', url, memo: known?.memo ?? null, lastModified: since });
}

/** Reading the links of longer pages would hold up other requests. */
const maxHtmlBytes = 5 * 1024 * 1024;

async function settleRead(
  context: VisitContext,
  visit: VisitDraft,
  read: { url: string; target: URL; page: Omit<ReadPage, 'url' | 'memo'>; robotsTag: string | undefined },
): Promise<Visit> {
  const { bounds, site } = context;
  const { url, page } = read;
  const isHtml = /^(text\/html|application\/xhtml\+xml)$/.test(essence(page.mediaType));
  const html = isHtml ? decodeHtml(page.bytes.subarray(0, maxHtmlBytes), page.mediaType) : '';
  const links = await readLinks(html, {
    url: read.target.href,
    robotsTag: read.robotsTag,
    product: crawlerName,
    maxLinks: bounds.maxLinksPerPage,
  });
  if (isHtml && page.bytes.length > maxHtmlBytes) links.isTruncated = true;
  const canonical = await findCanonical(context, links, url);
  if (!site().scope.includes(new URL(url))) return { ...skip(visit, url, 'out_of_scope'), links };
  if (links.isNoIndex) return { ...skip(visit, url, 'noindex'), links };
  if (canonical !== null) {
    context.displaced.add(url);
    return { ...skip(visit, url, 'duplicate'), links, canonical };
  }
  return { ...done(visit, { ...page, url, memo: null }), links };
}

/**
 * The address that stands for this page: its canonical one, or where its meta refresh leads. The front page never
 * replaces other pages, whatever a template says.
 */
async function findCanonical(context: VisitContext, links: PageLinks, url: string): Promise<string | null> {
  const { scope, robots } = context.site();
  const named = links.refresh ?? links.canonical;
  const canonical = named === null ? null : scope.pageOf(named, links.base);
  if (canonical === null || canonical.href === url || !robots.allows(canonical)) return null;
  const isFrontPage = canonical.pathname === '/' && new URL(url).pathname !== '/';
  if (isFrontPage && links.refresh === null) return null;
  return (await isDisplaced(context, canonical.href)) ? null : canonical.href;
}

/**
 * Two pages that name each other must not both disappear: the second one stays. In a crawl that continues after a
 * restart, a page that was left out before is one that was seen and never stored.
 */
async function isDisplaced({ displaced, frontier, known }: VisitContext, url: string): Promise<boolean> {
  if (displaced.has(url)) return true;
  if (!frontier.wasVisitedBefore(url)) return false;
  return !hasContent(await known.find(url));
}

function done(visit: VisitDraft, page: CrawledPage): Visit {
  return { ...visit, page, links: null, canonical: null, gap: null };
}

function skip(visit: VisitDraft, url: string, reason: SkipReason): Visit {
  const gap =
    visit.isStart && reason === 'robots' ? 'robots.txt forbids the page where the crawl starts' : null;
  return { ...done(visit, { kind: 'skipped', url, reason }), gap };
}

/** A permanent failure of a page that was never read leaves no gap; all other failures do. */
function fail(
  visit: VisitDraft,
  url: string,
  { code, message, isTransient, known }: Omit<RequestFailure, 'kind'> & { known: KnownPage | null },
): Visit {
  const gap = isTransient || visit.isStart || hasContent(known) ? message : null;
  return { ...done(visit, { kind: 'failed', url, code, message, isTransient }), gap };
}

function raised(code: CrawlErrorCode, text: string): Omit<RequestFailure, 'kind'> {
  const { message, kind } = crawlErrors.raise[code](text);
  return { code, message, isTransient: kind === 'transient' };
}

function hasContent(known: KnownPage | null): boolean {
  return known !== null && known.contentHash !== null;
}

function essence(mediaType: string): string {
  return (mediaType.split(';', 1)[0] ?? '').trim().toLowerCase();
}

export type FindKnown = (urls: readonly string[]) => Promise<Map<string, KnownPage>>;

/** Looks up what is known about pages in groups, shortly before they are visited. */
export class KnownPages {
  readonly #findKnown: FindKnown;
  readonly #answers = new Map<string, Promise<KnownPage | null>>();

  constructor(findKnown: FindKnown) {
    this.#findKnown = findKnown;
  }

  /** `ahead` are the pages that will be visited next. */
  find(url: string, ahead: readonly string[] = []): Promise<KnownPage | null> {
    if (!this.#answers.has(url)) this.#ask([url, ...ahead]);
    const answer = this.#answers.get(url) ?? Promise.resolve(null);
    this.#answers.delete(url);
    return answer;
  }

  #ask(urls: string[]): void {
    const missing = urls.filter((url) => !this.#answers.has(url));
    const asking = this.#findKnown(missing);
    for (const url of missing) {
      const answer = asking.then((known) => known.get(url) ?? null);
      // The visit of the page handles a failure; for a page that is never visited it must not count as unhandled.
      answer.catch(() => {});
      this.#answers.set(url, answer);
    }
  }
}
