import { looksLikeDocument, normalisePageUrl } from './page-url.ts';

export interface ScopeRules {
  /** Only paths that start with one of these; empty: all paths. */
  include: readonly string[];
  /** Paths that start with one of these are left out, even if they are included. */
  exclude: readonly string[];
}

/** Which pages belong to the crawl: those of one host, on the requested paths. */
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

  /** The page that a link leads to; null if it is not part of this crawl. */
  pageOf(href: string, base: string | URL): URL | null {
    const url = normalisePageUrl(href, base);
    if (url === null || !this.isOnHost(url)) return null;
    // Sites mix http and https in their own links; both are the same site.
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

  /** Whether the start may redirect there: from http to https, or between its name with and without www. */
  canMoveTo(url: URL): boolean {
    const bare = (hostname: string) => hostname.replace(/^www\./, '');
    return bare(url.hostname) === bare(this.#origin.hostname) && url.port === this.#origin.port;
  }

  moveTo(url: URL): void {
    this.#origin = new URL('/', url);
  }
}
