import { type CrawlOptions, crawl } from '../../../src/kernel/crawl/crawl.ts';
import type {
  CrawlBounds,
  CrawledPage,
  CrawlProgress,
  CrawlStep,
  KnownPage,
} from '../../../src/kernel/crawl/types.ts';
import { guardedFetch } from '../fakes/local-site.ts';
import type { WebSite } from '../fakes/site.ts';

export type Stored = Map<string, KnownPage>;

export interface Crawled {
  steps: CrawlStep[];
  /** `kind /path`, in order. */
  pages: string[];
  end: Extract<CrawlStep, { type: 'end' }> | undefined;
  frontier: { url: string; depth: number; isVisited: boolean }[];
  progress: CrawlProgress | null;
}

const quick: Partial<CrawlBounds> = { delayMs: 0, retryDelaysMs: [1, 1], timeoutMs: 20_000 };

function optionsOf(site: WebSite, given: Partial<CrawlOptions> = {}): CrawlOptions {
  return {
    start: `${site.url}/`,
    scope: { include: [], exclude: [] },
    useSitemap: false,
    accepts: (mediaType) => mediaType.startsWith('text/'),
    fetch: guardedFetch({ blockPrivateAddresses: false }),
    frontier: [],
    progress: null,
    findKnown: async () => new Map(),
    signal: new AbortController().signal,
    ...given,
    bounds: { ...quick, ...given.bounds },
  };
}

/** Crawls to the end or for some steps, and keeps what a house would store after each. */
export async function crawlSite(
  site: WebSite,
  given: Partial<CrawlOptions> = {},
  maxSteps = 100_000,
): Promise<Crawled> {
  const options = optionsOf(site, given);
  const crawled: Crawled = {
    steps: [],
    pages: [],
    end: undefined,
    frontier: options.frontier.map((page) => ({ ...page })),
    progress: options.progress,
  };
  for await (const step of crawl(options)) {
    crawled.steps.push(step);
    crawled.progress = step.progress;
    if (step.type === 'end') crawled.end = step;
    else crawled.frontier.push(...step.found.map((page) => ({ ...page, isVisited: false })));
    if (step.type === 'visit') {
      for (const page of crawled.frontier) if (step.visited.includes(page.url)) page.isVisited = true;
      crawled.pages.push(describePage(step.page, site));
    }
    if (crawled.steps.length >= maxSteps) break;
  }
  return crawled;
}

function describePage(page: CrawledPage, site: WebSite): string {
  const why = page.kind === 'skipped' ? ` ${page.reason}` : page.kind === 'failed' ? ` ${page.code}` : '';
  return `${page.kind} ${page.url.replace(site.url, '')}${why}`;
}

/** What a house keeps of the pages of a crawl. */
export function remember({ steps }: Crawled): Stored {
  const stored: Stored = new Map();
  for (const step of steps) {
    if (step.type === 'visit' && step.page.kind === 'page') {
      stored.set(step.page.url, { contentHash: 'some', memo: step.page.memo });
    }
  }
  return stored;
}

export const knownFrom = (stored: Stored): Pick<CrawlOptions, 'findKnown'> => ({
  findKnown: async (urls) =>
    new Map(urls.flatMap((url) => (stored.has(url) ? [[url, stored.get(url) as KnownPage]] : []))),
});

/** After a crawl that was complete. */
export const listFrom = (stored: Stored): Pick<CrawlOptions, 'findKnown' | 'listKnown' | 'wasComplete'> => ({
  ...knownFrom(stored),
  wasComplete: true,
  listKnown: async ({ after, limit }) =>
    [...stored]
      .map(([url, known]) => ({ url, ...known }))
      .sort((a, b) => (a.url < b.url ? -1 : 1))
      .filter(({ url }) => after === null || url > after)
      .slice(0, limit),
});
