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

/** What all visits of a crawl go by. */
export interface SiteRules {
  scope: Scope;
  robots: Robots;
  /** One text for all that decides which links are followed. */
  rules: string;
}

export interface VisitContext {
  site(): SiteRules;
  /** The start has redirected to another spelling of its host. */
  moveTo(url: URL): Promise<RequestFailure | null>;
  requests: PoliteRequests;
  frontier: Frontier;
  known: KnownPages;
  bounds: CrawlBounds;
  accepts(mediaType: string): boolean;
  /** All that unchanged pages lead to is known, and asked for by itself where it is not found. */
  areLinksKnown: boolean;
}

export interface Visit {
  asked: FoundPage;
  isStart: boolean;
  page: CrawledPage;
  /** Where redirects led, visited along with it. */
  claimed: string[];
  links: PageLinks | null;
  /** Its other address, which stands for it. */
  canonical: string | null;
  /** Why pages may be hidden behind this one. */
  gap: string | null;
}

interface Hop {
  /** What is asked for. */
  target: URL;
  /** What the page is called. */
  url: string;
}

type Answer =
  | { kind: 'redirect'; status: number; location: string }
  | { kind: 'unchanged'; lastModified: string | null }
  | { kind: 'gone' }
  | { kind: 'refused'; status: number }
  | { kind: 'other_media' }
  | { kind: 'read'; page: Omit<ReadPage, 'url' | 'memo'>; robotsTag: string | undefined };

/** Asks for one page, and for where it redirects to as long as that is a page of this crawl. */
export async function visitPage(context: VisitContext, asked: FoundPage, isStart: boolean): Promise<Visit> {
  const visit: VisitDraft = { asked, isStart, claimed: [] };
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
  const message = `The redirects of ${asked.url} lead in a circle or on and on (${trail.size} of them)`;
  return fail(visit, asked.url, { ...raised('redirect_loop', message), known: null });
}

type VisitDraft = Pick<Visit, 'asked' | 'isStart' | 'claimed'>;

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

/** The memo, if an answer "not modified" would tell enough. */
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
    const message = `${hop.url} redirects to an address that cannot be read`;
    return fail(visit, hop.url, { ...raised('redirect_loop', message), known });
  }
  if (url === hop.url) return { target, url };
  if (visit.isStart && target.origin !== scope.origin && scope.canMoveTo(target)) {
    const failure = await context.moveTo(target);
    if (failure !== null) return fail(visit, url, { ...failure, known: null });
  } else if (!scope.isOnHost(target)) {
    const message = `${hop.url} redirects to ${target.host}, which is another site`;
    return fail(visit, hop.url, { ...raised('redirected_off_host', message), known });
  }
  if (hasContent(known) && !permanentRedirects.includes(status)) {
    const message = `${hop.url} had a text earlier and now redirects (status ${status}) to another page`;
    return fail(visit, hop.url, { ...raised('redirected_for_now', message), known });
  }
  if (!visit.isStart && !scope.includes(target)) return skip(visit, url, 'out_of_scope');
  if (visit.asked.url === url || visit.claimed.includes(url)) return { target, url };
  if (!context.frontier.claim(url)) return skip(visit, url, 'duplicate');
  visit.claimed.push(url);
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
      const message = `${url}, where the crawl starts, is not there (404 or 410)`;
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
    const message = `The site answered 304 (not modified) for ${url} without having been asked whether it changed`;
    return fail(visit, url, { ...raised('page_refused', message), known });
  }
  const since = lastModified ?? memo.lastModified;
  return done(visit, { kind: 'unchanged', url, memo: known?.memo ?? null, lastModified: since });
}

/** Beyond this nobody writes links by hand, and reading them would hold up other requests. */
const maxHtmlBytes = 5 * 1024 * 1024;

async function settleRead(
  { bounds, site }: VisitContext,
  visit: VisitDraft,
  read: { url: string; target: URL; page: Omit<ReadPage, 'url' | 'memo'>; robotsTag: string | undefined },
): Promise<Visit> {
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
  const canonical = findCanonical(site(), links, url);
  if (!site().scope.includes(new URL(url))) return { ...skip(visit, url, 'out_of_scope'), links };
  if (links.isNoIndex) return { ...skip(visit, url, 'noindex'), links };
  if (canonical !== null) return { ...skip(visit, url, 'duplicate'), links, canonical };
  return { ...done(visit, { ...page, url, memo: null }), links };
}

/**
 * The page's other address, if it is a shorter one: two pages that name each other must not both disappear. Nor does
 * a whole site stand behind its front page, whatever a template says.
 */
function findCanonical({ scope, robots }: SiteRules, links: PageLinks, url: string): string | null {
  if (links.canonical === null) return null;
  const canonical = scope.pageOf(links.canonical, links.base);
  if (canonical === null || canonical.href.length >= url.length || !robots.allows(canonical)) return null;
  return canonical.pathname === '/' && new URL(url).pathname !== '/' ? null : canonical.href;
}

function done(visit: VisitDraft, page: CrawledPage): Visit {
  return { ...visit, page, links: null, canonical: null, gap: null };
}

function skip(visit: VisitDraft, url: string, reason: SkipReason): Visit {
  const gap =
    visit.isStart && reason === 'robots' ? 'robots.txt forbids the page where the crawl starts' : null;
  return { ...done(visit, { kind: 'skipped', url, reason }), gap };
}

/** A page that never gave anything and fails for good hides nothing that anyone has seen; all others may. */
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

/** Asks for what is known about pages in groups, shortly before they are visited. */
export class KnownPages {
  readonly #findKnown: FindKnown;
  readonly #answers = new Map<string, Promise<KnownPage | null>>();

  constructor(findKnown: FindKnown) {
    this.#findKnown = findKnown;
  }

  /** `ahead` are those that will be asked for next. */
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
      // Whoever visits the page hears of a failure; one that is never visited has nobody to tell.
      answer.catch(() => {});
      this.#answers.set(url, answer);
    }
  }
}
