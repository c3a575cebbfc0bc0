import { readXml, type XmlOutcome, type XmlReader } from './xml.ts';

export interface SitemapEntry {
  url: string;
  /** As written in the sitemap. */
  lastModified: string | null;
}

/** Returns false when it wants no more. */
export type TakeEntry = (kind: 'page' | 'sitemap', entry: SitemapEntry) => boolean;

/** `none`: not a sitemap, such as the start page that many sites serve for every address. */
export type SitemapOutcome = { kind: 'urls' | 'index' | 'none'; end: XmlOutcome };

/** The protocol (sitemaps.org) allows 50 MB and 50,000 addresses in a file. */
const limits = { bytes: 50 * 1024 * 1024, entries: 50_000, fieldLength: 4_000 };

/** Passes pages and further sitemaps to `take` as they come, until it returns false. */
export async function readSitemap(
  source: AsyncIterable<Uint8Array>,
  { contentType, take }: { contentType?: string; take: TakeEntry },
): Promise<SitemapOutcome> {
  const reader = new SitemapReader(take);
  const end = await readXml(source, { contentType, reader, maxBytes: limits.bytes });
  return { kind: reader.kind, end };
}

class SitemapReader implements XmlReader {
  kind: SitemapOutcome['kind'] = 'none';
  readonly #take: TakeEntry;
  #hasRoot = false;
  #isDone = false;
  #field: 'loc' | 'lastmod' | null = null;
  #loc = '';
  #lastmod = '';
  #count = 0;

  constructor(take: TakeEntry) {
    this.#take = take;
  }

  isDone(): boolean {
    return this.#isDone;
  }

  open(name: string): void {
    if (!this.#hasRoot) {
      this.#hasRoot = true;
      this.kind = roots.get(name) ?? 'none';
      this.#isDone = this.kind === 'none';
    }
    this.#field = name === 'loc' || name === 'lastmod' ? name : null;
  }

  text(text: string): void {
    if (this.#field === 'loc') this.#loc = (this.#loc + text).slice(0, limits.fieldLength);
    if (this.#field === 'lastmod') this.#lastmod = (this.#lastmod + text).slice(0, limits.fieldLength);
  }

  close(name: string): void {
    this.#field = null;
    if (name !== 'url' && name !== 'sitemap') return;
    const url = this.#loc.trim();
    const lastModified = this.#lastmod.trim() || null;
    this.#loc = '';
    this.#lastmod = '';
    if (url === '') return;
    this.#count += 1;
    const wantsMore = this.#take(name === 'url' ? 'page' : 'sitemap', { url, lastModified });
    this.#isDone = !wantsMore || this.#count >= limits.entries;
  }
}

const roots = new Map<string, 'urls' | 'index'>([
  ['urlset', 'urls'],
  ['sitemapindex', 'index'],
]);
