import { looksLikeDocument, normalisePageUrl } from './page-url.ts';

export interface ScopeRules {
  /** Paths begin with one of these; all do when there are none. */
  include: readonly string[];
  /** Paths that begin with one of these are left out, whatever is included. */
  exclude: readonly string[];
}

/** What belongs to the site that is crawled: one host, and the paths that were asked for. */
export class Scope {
  #origin: URL;
  readonly #rules: ScopeRules;

  constructor(start: string, rules: ScopeRules) {
    this.#origin = new URL('/', start);
    this.#rules = rules;
  }

  get origin(): string {
    return this.#origin.origin;
  }

  /** The page that a link leads to; null when it is none of this crawl's. */
  pageOf(href: string, base: string | URL): URL | null {
    const url = normalisePageUrl(href, base);
    if (url === null || !this.isOnHost(url)) return null;
    // A site's own links name it with http and https by turns; they are one site.
    if (url.protocol !== this.#origin.protocol) url.protocol = this.#origin.protocol;
    return this.includes(url) && looksLikeDocument(url) ? url : null;
  }

  isOnHost(url: URL): boolean {
    return url.hostname === this.#origin.hostname && url.port === this.#origin.port;
  }

  includes({ pathname }: URL): boolean {
    const { include, exclude } = this.#rules;
    if (exclude.some((prefix) => pathname.startsWith(prefix))) return false;
    return include.length === 0 || include.some((prefix) => pathname.startsWith(prefix));
  }

  /** Whether a site may send its visitors there for good: from http to https, to its name with www or without. */
  canMoveTo(url: URL): boolean {
    const bare = (hostname: string) => hostname.replace(/^www\./, '');
    return bare(url.hostname) === bare(this.#origin.hostname) && url.port === this.#origin.port;
  }

  moveTo(url: URL): void {
    this.#origin = new URL('/', url);
  }
}
