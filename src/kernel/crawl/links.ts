import { type HtmlTag, readTags } from './html-tags.ts';

/** What a page says about itself, and where it links to. */
export interface PageLinks {
  /** As written, relative to `base`; without links that the page asks not to follow. */
  hrefs: string[];
  base: string;
  canonical: string | null;
  /** Where a meta refresh leads within a few seconds: the page stands for that one. */
  refresh: string | null;
  /** The page asks not to be indexed. */
  isNoIndex: boolean;
  isNoFollow: boolean;
  /** The page has more links than the limit. */
  isTruncated: boolean;
}

export interface LinkOptions {
  url: string;
  /** The X-Robots-Tag header. */
  robotsTag: string | undefined;
  /** The name that robots rules use for this crawler. */
  product: string;
  maxLinks: number;
}

export async function readLinks(html: string, options: LinkOptions): Promise<PageLinks> {
  const { url, product } = options;
  const page: PageLinks = {
    hrefs: [],
    base: url,
    canonical: null,
    refresh: null,
    isNoIndex: false,
    isNoFollow: false,
    isTruncated: false,
  };
  applyDirectives(page, headerDirectives(options.robotsTag ?? '', product));
  const reading = { page, options, hasBase: false };
  await readTags(html, wanted, (tag) => {
    readTag(tag, reading);
    return !page.isTruncated;
  });
  if (page.isNoFollow) page.hrefs = [];
  return page;
}

/** Decodes with the encoding named by the response or by the page, otherwise as UTF-8. */
export function decodeHtml(bytes: Uint8Array, contentType: string | undefined): string {
  const start = Buffer.from(bytes.subarray(0, 1024)).toString('latin1');
  const label =
    /charset\s*=\s*["']?([\w:.-]+)/i.exec(contentType ?? '')?.[1] ??
    /<meta[^>]{0,200}charset\s*=\s*["']?([\w:.-]+)/i.exec(start)?.[1];
  try {
    return new TextDecoder(label ?? 'utf-8').decode(bytes);
  } catch {
    // The encoding is unknown; addresses are ASCII in nearly all encodings.
    return new TextDecoder().decode(bytes);
  }
}

function readTag(
  { name, attributes }: HtmlTag,
  reading: { page: PageLinks; options: LinkOptions; hasBase: boolean },
): void {
  const { page, options } = reading;
  const href = attributes.get('href')?.trim();
  if (name === 'meta') {
    const about = attributes.get('name')?.trim().toLowerCase();
    if (about === 'robots' || about === options.product.toLowerCase()) {
      applyDirectives(page, words(attributes.get('content') ?? ''));
    }
    if (attributes.get('http-equiv')?.trim().toLowerCase() === 'refresh') {
      page.refresh ??= refreshTarget(attributes.get('content') ?? '');
    }
  } else if (href === undefined || href === '') {
    // An anchor without a link.
  } else if (name === 'base') {
    if (!reading.hasBase && URL.canParse(href, options.url)) page.base = new URL(href, options.url).href;
    reading.hasBase = true;
  } else if (name === 'link') {
    const isCanonical = words(attributes.get('rel') ?? '').includes('canonical');
    if (isCanonical && page.canonical === null) page.canonical = href;
  } else if (!words(attributes.get('rel') ?? '').includes('nofollow')) {
    if (page.hrefs.length < options.maxLinks) page.hrefs.push(href);
    else page.isTruncated = true;
  }
}

/** Slower ones are for people who read the page first. */
const maxRefreshSeconds = 10;

/** `0; url=/new`, as loosely as browsers read it; null for a page that only reloads itself. */
function refreshTarget(content: string): string | null {
  // Piece by piece: one pattern would try every way to divide a run of spaces.
  const text = content.slice(0, 4_000).trim();
  const [start, seconds] = /^(\d+)(?:\.\d*)?(?=[;,\s])/.exec(text) ?? [];
  if (start === undefined || Number(seconds) > maxRefreshSeconds) return null;
  const target = text
    .slice(start.length)
    .replace(/^[;,\s]+/, '')
    .replace(/^url\s*=\s*/i, '')
    .trim();
  const quoted = /^(["'])(.*?)\1/.exec(target);
  return (quoted === null ? target : (quoted[2] ?? '')).trim() || null;
}

const wanted = new Set(['a', 'area', 'base', 'link', 'meta']);

function applyDirectives(page: PageLinks, directives: string[]): void {
  if (directives.includes('noindex') || directives.includes('none')) page.isNoIndex = true;
  if (directives.includes('nofollow') || directives.includes('none')) page.isNoFollow = true;
}

/** In `noindex, otherbot: nofollow, noarchive` a name applies to all directives up to the next name. */
function headerDirectives(header: string, product: string): string[] {
  const directives: string[] = [];
  let isForUs = true;
  for (const part of header.toLowerCase().slice(0, 2_000).split(',')) {
    const colon = part.indexOf(':');
    const name = part.slice(0, colon).trim();
    // These directives have a value after their colon; they are not names.
    const isNamed = colon !== -1 && !/^(unavailable_after|max-[a-z-]+)$/.test(name);
    if (isNamed) isForUs = name === product.toLowerCase();
    if (isForUs) directives.push(...words(isNamed ? part.slice(colon + 1) : part));
  }
  return directives;
}

function words(text: string): string[] {
  return text.toLowerCase().split(/[\s,]+/);
}
