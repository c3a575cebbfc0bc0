import { createHash } from 'node:crypto';
import { z } from 'zod';
import { parseForeignJson } from '../../lib/json-depth.ts';

/** What the next crawl needs to know about a page. */
export interface Memo {
  depth: number;
  /** The rules under which its links were followed. Under other rules an unchanged page may lead to more pages. */
  rules: string;
  etag: string | null;
  lastModified: string | null;
}

/** At most 1,500 printable characters. */
export function writeMemo({ depth, rules, etag, lastModified }: Memo): string {
  return JSON.stringify({ d: depth, r: rules, e: printable(etag), m: printable(lastModified) });
}

export function readMemo(text: string | null): Memo | null {
  if (text === null) return null;
  const parsed = memoSchema.safeParse(parseForeignJson(text));
  // Not a memo: the page counts as one without.
  if (!parsed.success) return null;
  const { d, r, e, m } = parsed.data;
  return { depth: d, rules: r, etag: e, lastModified: m };
}

export function rulesHash(rules: unknown): string {
  return createHash('sha256').update(JSON.stringify(rules)).digest('hex').slice(0, 12);
}

/** Null for a value that cannot be sent back in a header. */
export function printable(header: string | null | undefined): string | null {
  return header && /^[\x20-\x7e]{1,500}$/.test(header) ? header : null;
}

const memoSchema = z.object({
  d: z.int().min(0).max(1_000),
  r: z.string().max(64),
  e: z.string().nullable().transform(printable),
  m: z.string().nullable().transform(printable),
});
