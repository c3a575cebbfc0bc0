import type { Event } from '../../api/types.ts';

/** One page of the log as the API gives it: oldest first, after a position. */
export type ReadAfter = (after: string) => Promise<{ data: Event[]; has_more: boolean }>;

export interface NewestPage {
  /** Newest first. */
  data: Event[];
  hasMore: boolean;
  /** Where the next, older page ends. */
  nextCursor: string | null;
}

const wanted = 50;
const firstSpan = 256n;
const maxReads = 40;

/**
 * The newest events before a position. The log is read oldest first only, but an event's id begins with the number of
 * its transaction, so a span of transactions before the position can be read, and widened until it holds enough.
 */
export async function readNewest(readAfter: ReadAfter, before: string): Promise<NewestPage> {
  let end = transactionOf(before);
  let span = firstSpan;
  const found: Event[] = [];
  for (let reads = 0; reads < maxReads && end > 0n && found.length < wanted; reads += 1) {
    const start = end > span ? end - span : 0n;
    const page = await readAfter(`${start}-0`);
    const within = page.data.filter((event) => transactionOf(event.id) < end);
    const isCut = page.has_more && within.length === page.data.length;
    // More than one response holds: the newest ones are missing, so a shorter span is tried.
    if (isCut && end - start > 1n) {
      span = (end - start) / 8n || 1n;
      continue;
    }
    found.unshift(...(isCut ? await readOn(readAfter, page, end) : within));
    end = start;
    span *= 4n;
  }
  return { data: found.reverse(), hasMore: end > 0n, nextCursor: end > 0n ? `${end}-0` : null };
}

/** A single transaction that wrote more events than one response holds. */
async function readOn(
  readAfter: ReadAfter,
  first: { data: Event[]; has_more: boolean },
  end: bigint,
): Promise<Event[]> {
  const events = [...first.data];
  let hasMore = first.has_more;
  for (let reads = 0; reads < maxReads && hasMore; reads += 1) {
    const page = await readAfter(events.at(-1)?.id ?? '0-0');
    const within = page.data.filter((event) => transactionOf(event.id) < end);
    events.push(...within);
    hasMore = page.has_more && within.length === page.data.length;
  }
  return events;
}

export function transactionOf(id: string): bigint {
  return BigInt(/^\d+/.exec(id)?.[0] ?? '0');
}
