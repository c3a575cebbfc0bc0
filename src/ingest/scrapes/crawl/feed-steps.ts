import { readFeed } from '../../../kernel/crawl/feed.ts';
import { PoliteRequests } from '../../../kernel/crawl/polite-requests.ts';
import { loadRobots } from '../../../kernel/crawl/robots.ts';
import { defaultCrawlBounds } from '../../../kernel/crawl/types.ts';
import type { CrawlSettings } from '../types.ts';
import type { CrawlPlace, CrawlTools, FeedReference, ScrapeStep } from './steps.ts';

const maxIdBytes = 1_500;
const maxFeedBytes = 20 * 1024 * 1024;

/**
 * Makes each entry of an RSS or Atom feed a reference. Feeds are short: each slice reads the whole feed again, and
 * skips entries that were read before.
 */
export async function* feedSteps(
  url: string,
  { maxPages }: Pick<CrawlSettings, 'maxPages'>,
  tools: CrawlTools,
  { frontier }: Pick<CrawlPlace, 'frontier'>,
): AsyncGenerator<ScrapeStep> {
  const isDone = new Set(frontier.map(({ url: id }) => id));
  const requests = requestsOf(tools);
  const fail = (reason: string): ScrapeStep => ({
    failure: reason,
    progress: null,
    end: { isComplete: false, reason },
  });
  const robots = await loadRobots(requests, new URL(url).origin);
  if ('kind' in robots) return yield fail(`The robots.txt of ${url} cannot be read: ${robots.message}`);
  if (!robots.allows(new URL(url))) return yield fail(`The robots.txt of the site forbids ${url}`);
  const asked = await requests.ask(url, { maxRedirects: 5, maxBytes: maxFeedBytes }, (answer) =>
    answer.status >= 200 && answer.status < 300
      ? readFeed(answer.body, {
          url: answer.finalUrl,
          contentType: answer.headers['content-type'],
          maxEntries: maxPages,
        })
      : Promise.resolve({ kind: 'unreadable' as const, message: `${url} answered ${answer.status}` }),
  );
  if (asked.kind === 'failed') return yield fail(asked.message);
  const feed = asked.value;
  if (feed.kind === 'unreadable') return yield fail(`The feed ${url} cannot be read: ${feed.message}`);
  for (const { id, url: link, title, content, publishedAt, updatedAt } of feed.entries) {
    if (isDone.has(id)) continue;
    const visited = [id];
    if (Buffer.byteLength(id) > maxIdBytes) {
      const failure = `The id of the entry ${title} is longer than ${maxIdBytes} bytes`;
      yield { failure, visited, progress: null };
      continue;
    }
    const metadata = { feed: url, published_at: publishedAt, updated_at: updatedAt };
    const entry: FeedReference = { externalId: id, url: link ?? url, title, html: content, metadata };
    yield { entry, visited, progress: null };
  }
  const reason = feed.isTruncated ? 'The feed was not read to its end' : 'Every entry was read';
  yield { progress: null, end: { isComplete: !feed.isTruncated, reason } };
}

export function requestsOf({ fetch, signal, bounds, wait }: CrawlTools): PoliteRequests {
  return new PoliteRequests({ fetch, signal, wait, bounds: { ...defaultCrawlBounds, ...bounds } });
}
