import type { CrawlBounds, FoundPage, FrontierPage } from './types.ts';

export type Offer = 'added' | 'known' | 'full';

/** The queue of pages that a crawl has found and not visited yet, and the set of all pages that it knows of. */
export class Frontier {
  readonly #bounds: Pick<CrawlBounds, 'maxPages' | 'maxQueriesPerPath'>;
  readonly #seen = new Set<string>();
  readonly #visitedBefore = new Set<string>();
  readonly #queriesOfPath = new Map<string, number>();
  #queue: FoundPage[] = [];
  #head = 0;

  constructor(bounds: Pick<CrawlBounds, 'maxPages' | 'maxQueriesPerPath'>, pages: readonly FrontierPage[]) {
    this.#bounds = bounds;
    // Visited pages first: a page that was found twice must not be visited twice.
    for (const { url, isVisited } of pages) {
      if (!isVisited) continue;
      this.#note(url);
      this.#visitedBefore.add(url);
    }
    for (const { url, depth, isVisited } of pages) {
      if (isVisited || this.#seen.has(url)) continue;
      this.#note(url);
      this.#queue.push({ url, depth });
    }
  }

  has(url: string): boolean {
    return this.#seen.has(url);
  }

  /** Whether an earlier slice of this crawl has visited it. */
  wasVisitedBefore(url: string): boolean {
    return this.#visitedBefore.has(url);
  }

  offer(page: FoundPage): Offer {
    if (this.#seen.has(page.url)) return 'known';
    if (this.#seen.size >= this.#bounds.maxPages) return 'full';
    const { path, hasQuery } = pathOf(page.url);
    if (hasQuery && (this.#queriesOfPath.get(path) ?? 0) >= this.#bounds.maxQueriesPerPath) return 'full';
    this.#note(page.url);
    this.#queue.push(page);
    return 'added';
  }

  /** Marks a page as known that is visited without having been queued, such as the target of a redirect. */
  markKnown(url: string): boolean {
    if (this.#seen.has(url)) return false;
    this.#note(url);
    return true;
  }

  take(): FoundPage | null {
    const page = this.#queue[this.#head];
    if (page === undefined) return null;
    this.#head += 1;
    if (this.#head >= 1024) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
    return page;
  }

  /** The next pages, without taking them. */
  peek(count: number): string[] {
    return this.#queue.slice(this.#head, this.#head + count).map(({ url }) => url);
  }

  #note(url: string): void {
    this.#seen.add(url);
    const { path, hasQuery } = pathOf(url);
    if (hasQuery) this.#queriesOfPath.set(path, (this.#queriesOfPath.get(path) ?? 0) + 1);
  }
}

function pathOf(url: string): { path: string; hasQuery: boolean } {
  const mark = url.indexOf('?');
  return mark === -1 ? { path: url, hasQuery: false } : { path: url.slice(0, mark), hasQuery: true };
}
