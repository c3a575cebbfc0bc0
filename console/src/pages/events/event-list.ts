import { useInfiniteQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { api } from '../../api/client.ts';
import { live } from '../../api/queries.ts';
import type { Event } from '../../api/types.ts';

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
    queryFn: ({ pageParam }) =>
      api.get('/api/events', { query: { ...filters, order: 'newest', limit: 50, cursor: pageParam } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
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
