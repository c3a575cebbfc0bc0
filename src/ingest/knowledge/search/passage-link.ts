/** Enough for a browser to find the place, and short enough to stay within one paragraph. */
const mostWords = 8;
const fewestWords = 3;
const webPages = new Set(['text/html', 'application/xhtml+xml']);

export interface LinkedPassage {
  kbId: string;
  documentId: string;
  uri: string;
  mediaType: string | null;
  /** Where the document is on the web, if its source or the document says so. */
  address: unknown;
  text: string;
  start: number;
  page: number | null;
}

/**
 * Where a person reads the passage: the page of a PDF on the web, the sentence of a web page, which browsers scroll to
 * and mark, and for everything else the place in the document as the console shows it.
 */
export function linkOf(passage: LinkedPassage): string {
  const { kbId, documentId, mediaType, text, start, page, address } = passage;
  const uri = isOnWeb(passage.uri) || typeof address !== 'string' ? passage.uri : address;
  const isWeb = isOnWeb(uri);
  if (isWeb && mediaType === 'application/pdf' && page !== null)
    return `${withoutFragment(uri)}#page=${page}`;
  const words = isWeb && mediaType !== null && webPages.has(mediaType) ? firstWords(text) : null;
  if (words !== null) return `${uri}${uri.includes('#') ? '' : '#'}:~:text=${fragmentText(words)}`;
  if (isWeb) return uri;
  const place = new URLSearchParams({ document: documentId, at: String(start) });
  return `/knowledge/${encodeURIComponent(kbId)}?${place}`;
}

function isOnWeb(uri: string): boolean {
  return /^https?:\/\/[^\s]+$/i.test(uri);
}

function withoutFragment(uri: string): string {
  return uri.split('#')[0] ?? uri;
}

/** Commas and minus signs have a meaning of their own in such a fragment. */
function fragmentText(words: string): string {
  return encodeURIComponent(words).replaceAll('-', '%2D');
}

/** The start of the first line of prose, without the marks of Markdown: a browser compares what people see. */
function firstWords(text: string): string | null {
  for (const line of text.split('\n')) {
    if (/^\s*(?:\||```|!\[)/.test(line)) continue;
    const words = visible(line)
      .split(' ')
      .filter((word) => word !== '');
    if (words.length >= fewestWords) return words.slice(0, mostWords).join(' ');
  }
  return null;
}

function visible(line: string): string {
  return line
    .replace(/^\s*(?:#{1,6}\s+|>\s*|[-*+]\s+|\d{1,9}[.)]\s+)/, '')
    .replace(/!?\[([^[\]]*)\]\([^()]*\)/g, '$1')
    .replace(/(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)|`/g, '')
    .replace(/\\([\\`*_{}[\]()#+\-.!|])/g, '$1')
    .replace(/\s+/g, ' ')
    .trim();
}
