import { escapeMarkup } from '../../lib/formats/xml-text.ts';
import { type FeedEntry, type FeedResult, oneLine, webAddress } from './feed-entry.ts';
import { lookAtStart, readJsonFeed } from './json-feed.ts';
import { readXml, type XmlReader } from './xml.ts';

const limits = { bytes: 20 * 1024 * 1024, entries: 1_000, fieldLength: 1_000_000, textLength: 20_000_000 };

/** Reads JSON Feed, RSS 2.0 (and 0.9x), RSS 1.0 (RDF) and Atom, and tolerates sloppy feeds. */
export async function readFeed(
  source: AsyncIterable<Uint8Array>,
  options: { url: string; contentType?: string; maxEntries?: number },
): Promise<FeedResult> {
  const { isJson, bytes } = await lookAtStart(source);
  if (!isJson) return readXmlFeed(bytes, options);
  const { url, maxEntries = limits.entries } = options;
  return readJsonFeed(bytes, { url, maxEntries, maxBytes: limits.bytes, maxFieldLength: limits.fieldLength });
}

async function readXmlFeed(
  source: AsyncIterable<Uint8Array>,
  options: { url: string; contentType?: string; maxEntries?: number },
): Promise<FeedResult> {
  const reader = new FeedReader(options.url, options.maxEntries ?? limits.entries);
  const end = await readXml(source, { ...options, reader, maxBytes: limits.bytes });
  if (!reader.isFeed) {
    const message = 'The response is not a feed. Allowed: JSON Feed, RSS 2.0, RSS 1.0 (RDF) and Atom';
    return { kind: 'unreadable', message };
  }
  if (end === 'broken' && reader.entries.length === 0) {
    return { kind: 'unreadable', message: 'The feed is broken before its first entry' };
  }
  return {
    kind: 'feed',
    title: oneLine(reader.title),
    entries: reader.entries,
    isTruncated: end !== 'whole' || reader.isCut,
  };
}

type Field = 'id' | 'link' | 'title' | 'content' | 'summary' | 'published' | 'updated';
type Draft = Partial<Record<Field, string>>;

/** Other prefixed names are ignored: media:title or itunes:summary describe something else. */
const fields = new Map<string, Field>([
  ['guid', 'id'],
  ['id', 'id'],
  ['link', 'link'],
  ['title', 'title'],
  ['content:encoded', 'content'],
  ['content', 'content'],
  ['description', 'summary'],
  ['summary', 'summary'],
  ['pubdate', 'published'],
  ['published', 'published'],
  ['issued', 'published'],
  ['dc:date', 'published'],
  ['updated', 'updated'],
  ['modified', 'updated'],
]);

const roots = new Set(['rss', 'feed', 'rdf:rdf', 'rdf']);

class FeedReader implements XmlReader {
  readonly entries: FeedEntry[] = [];
  title = '';
  isFeed = false;
  isCut = false;
  readonly #url: string;
  readonly #maxEntries: number;
  #hasRoot = false;
  #isDone = false;
  #entry: Draft | null = null;
  /** The field that texts belong to, and the elements that are open within it. */
  #field: Field | null = null;
  #inner: string[] = [];
  #isMarkup = false;
  #isRepeated = false;
  #textLength = 0;
  #skipped = 0;

  constructor(url: string, maxEntries: number) {
    this.#url = url;
    this.#maxEntries = maxEntries;
  }

  isDone(): boolean {
    return this.#isDone;
  }

  open(raw: string, attributes: Record<string, string>): void {
    const name = raw.replace(/^(atom|rss|atom10):/, '');
    if (!this.#hasRoot) {
      this.#hasRoot = true;
      this.isFeed = roots.has(name);
      this.#isDone = !this.isFeed;
      return;
    }
    if (this.#field !== null) this.#openInner(name, attributes);
    else if (name !== 'item' && name !== 'entry') this.#openField(name, attributes);
    else if (this.entries.length >= this.#maxEntries) this.#cut();
    else {
      const about = attributes['rdf:about'];
      this.#entry = about === undefined ? {} : { id: about };
    }
  }

  #openField(name: string, attributes: Record<string, string>): void {
    // The image of a feed has a title of its own.
    if (this.#entry === null && (name === 'image' || name === 'textinput')) this.#skipped += 1;
    const field = fields.get(name);
    if (field === undefined || this.#skipped > 0) return;
    if (this.#entry === null && field !== 'title') return;
    this.#begin(field, attributes);
  }

  #begin(field: Field, attributes: Record<string, string>): void {
    const { href, rel = 'alternate' } = attributes;
    if (field === 'link' && href !== undefined) {
      if (rel === 'alternate' && this.#entry !== null) this.#entry.link ??= href;
      return;
    }
    this.#field = field;
    this.#inner = [];
    this.#isMarkup = attributes.type === 'xhtml';
    // The first of several elements with one name counts.
    const earlier = this.#entry === null ? this.title : this.#entry[field];
    this.#isRepeated = Boolean(earlier?.trim());
  }

  #openInner(name: string, attributes: Record<string, string>): void {
    this.#inner.push(name);
    if (!this.#isMarkup) return;
    const written = Object.entries(attributes)
      .filter(([attribute]) => /^[a-z][a-z0-9-]*$/.test(attribute) && attribute !== 'xmlns')
      .map(([attribute, value]) => ` ${attribute}="${escapeMarkup(value)}"`);
    this.#add(`<${name}${written.join('')}>`);
  }

  text(text: string): void {
    if (this.#field !== null) this.#add(this.#isMarkup ? escapeMarkup(text) : text);
  }

  close(raw: string): void {
    const name = raw.replace(/^(atom|rss|atom10):/, '');
    if (this.#field !== null) {
      if (this.#inner.length === 0) this.#field = null;
      else {
        this.#inner.pop();
        if (this.#isMarkup) this.#add(`</${name}>`);
      }
      return;
    }
    if (name === 'image' || name === 'textinput') this.#skipped = Math.max(0, this.#skipped - 1);
    if ((name === 'item' || name === 'entry') && this.#entry !== null) {
      const entry = toEntry(this.#entry, this.#url);
      if (entry !== null) this.entries.push(entry);
      this.#entry = null;
    }
  }

  #add(text: string): void {
    if (this.#field === null || this.#isRepeated) return;
    this.#textLength += text.length;
    if (this.#textLength > limits.textLength) {
      this.#cut();
      return;
    }
    const before = (this.#entry === null ? this.title : this.#entry[this.#field]) ?? '';
    const after = (before + text).slice(0, limits.fieldLength);
    if (after.length < before.length + text.length) this.isCut = true;
    if (this.#entry === null) this.title = after;
    else this.#entry[this.#field] = after;
  }

  #cut(): void {
    this.isCut = true;
    this.#isDone = true;
  }
}

/** Null for an entry with neither id nor address: it cannot be told from the next one. */
function toEntry(draft: Draft, feedUrl: string): FeedEntry | null {
  const url = webAddress(draft.link, feedUrl) ?? webAddress(draft.id, undefined);
  const id = draft.id?.trim() || url;
  if (!id) return null;
  return {
    id: id.slice(0, 2_000),
    url,
    title: oneLine(draft.title ?? ''),
    content: (draft.content ?? draft.summary ?? '').trim(),
    publishedAt: draft.published?.trim() || null,
    updatedAt: draft.updated?.trim() || null,
  };
}
