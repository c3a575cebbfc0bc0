import { escapeMarkup } from '../../lib/formats/xml-text.ts';
import { asObject } from '../../lib/json.ts';
import { parseJsonInTurns } from '../../lib/json-in-turns.ts';
import { type FeedEntry, type FeedResult, oneLine, webAddress } from './feed-entry.ts';

/** The same bytes, and whether they begin like a JSON object: servers send feeds under any content type. */
export async function lookAtStart(
  source: AsyncIterable<Uint8Array>,
): Promise<{ isJson: boolean; bytes: AsyncIterable<Uint8Array> }> {
  const iterator = source[Symbol.asyncIterator]();
  const held: Uint8Array[] = [];
  let start = '';
  while (start === '') {
    const next = await iterator.next();
    if (next.done) break;
    held.push(next.value);
    start = Buffer.from(next.value)
      .toString('latin1')
      .replace(/^\u00ef\u00bb\u00bf/, '')
      .trimStart();
  }
  return { isJson: start.startsWith('{'), bytes: goOn(held, iterator) };
}

async function* goOn(held: Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* held;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

export interface JsonFeedLimits {
  url: string;
  maxEntries: number;
  maxBytes: number;
  maxFieldLength: number;
}

/** JSON Feed 1.0 and 1.1 (jsonfeed.org). */
export async function readJsonFeed(
  source: AsyncIterable<Uint8Array>,
  limits: JsonFeedLimits,
): Promise<FeedResult> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of source) {
    sizeBytes += chunk.length;
    if (sizeBytes > limits.maxBytes) {
      return unreadable(`The feed is larger than ${limits.maxBytes} bytes`);
    }
    chunks.push(chunk);
  }
  const parsed = await parseJsonInTurns(Buffer.concat(chunks));
  const feed = asObject('value' in parsed ? parsed.value : null);
  const isFeed = typeof feed.version === 'string' && feed.version.includes('jsonfeed.org');
  if (!isFeed || !Array.isArray(feed.items)) {
    return unreadable(
      'The response is JSON, but not a JSON Feed: it needs a version of jsonfeed.org and items',
    );
  }
  const entries = feed.items
    .slice(0, limits.maxEntries)
    .map((item) => entryOf(asObject(item), limits))
    .filter((entry) => entry !== null);
  return {
    kind: 'feed',
    title: oneLine(textOf(feed.title)),
    entries,
    isTruncated: feed.items.length > limits.maxEntries || entries.some(({ isCut }) => isCut),
  };
}

function entryOf(
  item: Record<string, unknown>,
  { url: feedUrl, maxFieldLength }: JsonFeedLimits,
): (FeedEntry & { isCut: boolean }) | null {
  const url = webAddress(textOf(item.url), feedUrl) ?? webAddress(textOf(item.external_url), feedUrl);
  // The document asks for a text, and for readers that take a number for one.
  const id = (typeof item.id === 'number' ? String(item.id) : textOf(item.id)).trim() || url;
  if (!id) return null;
  const content = contentOf(item);
  return {
    id: id.slice(0, 2_000),
    url,
    title: oneLine(textOf(item.title)),
    content: content.slice(0, maxFieldLength),
    publishedAt: textOf(item.date_published) || null,
    updatedAt: textOf(item.date_modified) || null,
    isCut: content.length > maxFieldLength,
  };
}

/** HTML: the whole text if the feed has it, otherwise the summary. */
function contentOf(item: Record<string, unknown>): string {
  const html = textOf(item.content_html);
  if (html !== '') return html;
  const plain = textOf(item.content_text) || textOf(item.summary);
  return escapeMarkup(plain).replace(/\r?\n/g, '<br>');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
}

function unreadable(message: string): FeedResult {
  return { kind: 'unreadable', message };
}
