import { Button } from '@mantine/core';
import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { Area } from '../api/live-areas.ts';
import { type KeysetPage, nextCursor, splitNew } from './keyset.ts';
import { count } from './number.ts';

interface KeysetListOptions<Row> {
  /** Begins with the area, goes on with every filter: `['jobs', 'list', filters]`. */
  queryKey: readonly [Area, ...QueryKey];
  fetchPage: (cursor: string | undefined, signal: AbortSignal) => Promise<KeysetPage<Row>>;
  rowKey: (row: Row) => string;
  /** Newest first: rows that appear above what is shown wait as `newCount`. False shows everything at once. */
  announcesNew?: boolean;
  enabled?: boolean;
  /** For data that changes without an event: polled this often while only the first page is shown. */
  everyMs?: number;
}

/** A list by keyset that grows at its end and does not move while it is read. */
export function useKeysetList<Row>(options: KeysetListOptions<Row>) {
  const { queryKey, fetchPage, rowKey, announcesNew = true, enabled = true, everyMs = false } = options;
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => fetchPage(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => nextCursor(page),
    enabled,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : everyMs),
  });
  const all = useMemo(() => query.data?.pages.flatMap((page) => page.data as Row[]) ?? [], [query.data]);
  const listName = JSON.stringify(queryKey);
  const [top, setTop] = useState<{ list: string; key: string | null }>({ list: listName, key: null });
  const topKey = top.list === listName ? top.key : null;
  const { shown, newCount } = useMemo(
    () => splitNew(all, { topKey: announcesNew ? topKey : null, rowKey }),
    [all, topKey, announcesNew, rowKey],
  );
  const firstKey = all[0] === undefined ? null : rowKey(all[0]);
  useEffect(() => {
    if (topKey === null && firstKey !== null) setTop({ list: listName, key: firstKey });
  }, [topKey, firstKey, listName]);
  const showNew = useCallback(() => setTop({ list: listName, key: firstKey }), [listName, firstKey]);
  return {
    rows: shown,
    newCount,
    showNew,
    error: query.error,
    isLoading: query.isPending && enabled,
    /** Marked out of date by an event but not reloaded, because it is long. */
    isStale: query.isStale && !query.isFetching && (query.data?.pages.length ?? 0) > 1,
    refetch: () => void query.refetch(),
    updatedAt: query.dataUpdatedAt,
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    loadMore: () => void query.fetchNextPage({ cancelRefetch: false }),
  };
}

interface MoreRowsProps {
  list: { hasMore: boolean; isLoadingMore: boolean; loadMore: () => void; rows: readonly unknown[] };
  noun: string;
}

/** Loads the next page when it comes into view, and by a button for those who do not scroll. */
export function MoreRows({ list, noun }: MoreRowsProps) {
  const { hasMore, isLoadingMore, loadMore, rows } = list;
  const mark = useRef<HTMLDivElement>(null);
  const latest = useRef(loadMore);
  latest.current = loadMore;
  useEffect(() => {
    if (!hasMore || mark.current === null) return;
    const observer = new IntersectionObserver(([entry]) => {
      if (entry?.isIntersecting) latest.current();
    });
    observer.observe(mark.current);
    return () => observer.disconnect();
  }, [hasMore]);
  return (
    <div className="more-rows" ref={mark}>
      <span className="dim">
        {hasMore
          ? `${count(rows.length)} ${noun} shown, there are more`
          : rows.length === 1
            ? 'End of list'
            : `All ${count(rows.length)} ${noun} shown`}
      </span>
      {hasMore ? (
        <Button variant="subtle" size="compact-xs" loading={isLoadingMore} onClick={loadMore}>
          Show more
        </Button>
      ) : null}
    </div>
  );
}
