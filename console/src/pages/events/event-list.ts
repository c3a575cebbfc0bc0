import { useInfiniteQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { ApiProblem, api } from '../../api/client.ts';
import { FrameReader } from '../../api/event-frames.ts';
import { live } from '../../api/queries.ts';
import type { Event } from '../../api/types.ts';
import { readNewest } from './newest-events.ts';

export interface EventFilters {
  type: string | undefined;
  subject: string | undefined;
}

const maxHeld = 1_000;

/** The log, newest first; new events are held back and counted until the reader shows them. */
export function useEventList(filters: EventFilters) {
  const listName = JSON.stringify(filters);
  const [arrived, setArrived] = useState<{ list: string; shown: Event[]; held: Event[] }>(() =>
    empty(listName),
  );
  const current = arrived.list === listName ? arrived : empty(listName);
  const query = useInfiniteQuery({
    queryKey: ['events', 'list', filters],
    queryFn: async ({ pageParam }) =>
      readNewest(
        (after) => api.get('/api/events', { query: { ...filters, after, limit: 500 } }),
        pageParam ?? (await readHead()),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  useEffect(
    () =>
      live.onEvent((event) => {
        if (!matches(event, filters)) return;
        setArrived((before) => {
          const base = before.list === listName ? before : empty(listName);
          return { ...base, held: [event, ...base.held].slice(0, maxHeld) };
        });
      }),
    [filters, listName],
  );
  const rows = useMemo(
    () => unique([...current.shown, ...(query.data?.pages.flatMap(({ data }) => data) ?? [])]),
    [current.shown, query.data],
  );
  const known = useMemo(() => new Set(rows.map(({ id }) => id)), [rows]);
  const held = current.held.filter(({ id }) => !known.has(id));
  const showNew = useCallback(
    () => setArrived((before) => ({ ...before, shown: [...before.held, ...before.shown], held: [] })),
    [],
  );
  return {
    rows,
    newCount: held.length,
    showNew,
    error: query.error,
    isLoading: query.isPending,
    refetch: () => void query.refetch(),
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    loadMore: () => void query.fetchNextPage(),
  };
}

function empty(list: string): { list: string; shown: Event[]; held: Event[] } {
  return { list, shown: [], held: [] };
}

function unique(events: readonly Event[]): Event[] {
  return [...new Map(events.map((event) => [event.id, event])).values()];
}

/** The server's filter, applied to events of the stream that all pages share. */
export function matches({ type, subject }: Pick<Event, 'type' | 'subject'>, filters: EventFilters): boolean {
  const types = filters.type?.split(',').filter((pattern) => pattern !== '') ?? [];
  const isType = types.length === 0 || types.some((pattern) => fits(type, pattern));
  return isType && (filters.subject === undefined || filters.subject === subject);
}

function fits(type: string, pattern: string): boolean {
  return pattern.endsWith('.*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
}

/** The end of the log: a stream sends its position first. */
async function readHead(): Promise<string> {
  const stop = new AbortController();
  const response = await fetch('/api/events/stream', { signal: stop.signal, credentials: 'same-origin' });
  if (!response.ok || response.body === null) {
    throw new ApiProblem(response.status, (await response.json()) as Record<string, unknown>);
  }
  const pieces = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const reader = new FrameReader();
  try {
    for (let piece = await pieces.read(); !piece.done; piece = await pieces.read()) {
      const frame = reader.read(piece.value).find(({ id }) => id !== null);
      if (frame?.id) return frame.id;
    }
  } finally {
    stop.abort();
  }
  throw new Error('The event stream ended before its first message. Try again.');
}
