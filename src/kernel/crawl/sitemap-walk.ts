import type { PoliteRequests } from './polite-requests.ts';
import { readSitemap, type SitemapEntry, type SitemapOutcome, type TakeEntry } from './sitemap.ts';

export interface SitemapWalk {
  requests: PoliteRequests;
  /** Absolute addresses. */
  start: readonly string[];
  maxSitemaps: number;
  /** Which sitemaps are read; sitemaps of other hosts could lead the crawl anywhere. */
  isAllowed(url: URL): boolean;
  /** Called for each page; returns false to stop. */
  take(entry: SitemapEntry): boolean;
}

export interface SitemapWalkEnd {
  /** Not everything was read: too many files, or `take` stopped. */
  isTruncated: boolean;
  /** One sentence for each sitemap that exists and could not be read. */
  failures: string[];
}

const maxCompressedBytes = 50 * 1024 * 1024;

/** Reads sitemaps and the sitemaps that they list, each once. */
export async function walkSitemaps(walk: SitemapWalk): Promise<SitemapWalkEnd> {
  const waiting = walk.start.flatMap((url) => allowed(walk, url));
  const seen = new Set(waiting);
  const end: SitemapWalkEnd = { isTruncated: false, failures: [] };
  let hasEnough = false;
  for (let read = 0; waiting.length > 0 && !hasEnough; read += 1) {
    const url = waiting.shift() ?? '';
    if (read >= walk.maxSitemaps) {
      end.isTruncated = true;
      return end;
    }
    const failure = await readOne(walk, url, (kind, entry) => {
      if (kind === 'page') {
        hasEnough = !walk.take(entry);
        return !hasEnough;
      }
      for (const inner of allowed(walk, entry.url)) {
        if (seen.has(inner) || seen.size > walk.maxSitemaps) continue;
        seen.add(inner);
        waiting.push(inner);
      }
      return seen.size <= walk.maxSitemaps;
    });
    if (failure !== null) end.failures.push(failure);
  }
  end.isTruncated = hasEnough || seen.size > walk.maxSitemaps;
  return end;
}

function allowed(walk: SitemapWalk, text: string): string[] {
  if (!URL.canParse(text)) return [];
  const url = new URL(text);
  return /^https?:$/.test(url.protocol) && walk.isAllowed(url) ? [url.href] : [];
}

/** Returns a sentence if it failed; null also if there is no such sitemap. */
async function readOne(
  { requests, isAllowed }: SitemapWalk,
  url: string,
  take: TakeEntry,
): Promise<string | null> {
  const asked = await requests.ask(
    url,
    { maxBytes: maxCompressedBytes, maxRedirects: 5 },
    async ({ status, body, headers, finalUrl }): Promise<SitemapOutcome> => {
      const isOurs = status >= 200 && status < 300 && isAllowed(new URL(finalUrl));
      return isOurs
        ? readSitemap(body, { contentType: headers['content-type'], take })
        : { kind: 'none', end: 'whole' };
    },
  );
  if (asked.kind === 'failed') return `The sitemap ${url} cannot be read: ${asked.message}`;
  const { kind, end } = asked.value;
  if (kind === 'none' || end === 'whole' || end === 'stopped') return null;
  return `The sitemap ${url} is ${endings[end]}`;
}

const endings = { cut_off: 'truncated', too_large: 'larger than 50 MB', broken: 'broken' };
