import { decodeHTML } from 'entities';

export interface FeedEntry {
  /** Identity in the feed: guid, id or rdf:about, otherwise its address. */
  id: string;
  /** Absolute, http or https; null if the entry has no link. */
  url: string | null;
  title: string;
  /** HTML: the whole text if the feed has it, otherwise the summary. */
  content: string;
  /** As written in the feed. */
  publishedAt: string | null;
  updatedAt: string | null;
}

export interface Feed {
  kind: 'feed';
  title: string;
  entries: FeedEntry[];
  /** The feed has more entries or longer texts than the limits allow, or it is truncated. */
  isTruncated: boolean;
}

export type FeedResult = Feed | { kind: 'unreadable'; message: string };

export function webAddress(text: string | undefined, base: string | undefined): string | null {
  const address = text?.trim();
  if (!address || !URL.canParse(address, base)) return null;
  const url = new URL(address, base);
  return /^https?:$/.test(url.protocol) ? url.href : null;
}

/** Titles are often escaped twice, so they are decoded once more. */
export function oneLine(text: string): string {
  return decodeHTML(text).replace(/\s+/g, ' ').trim().slice(0, 1_000);
}
