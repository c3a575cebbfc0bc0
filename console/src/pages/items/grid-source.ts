import { useQueries } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useKeysetList } from '../../parts/keyset-list.tsx';
import type { ItemJob } from './item-job.ts';
import { type ItemStatus, openStatuses } from './item-status.ts';
import { orderQuery, type RowOrder } from './row-order.ts';
import { type GridRow, getRows, type RowsPage } from './rows-api.ts';

/** What a grid shows, by position. Only visible rows are loaded. */
export interface GridSource {
  count: number;
  rowAt: (index: number) => GridRow | undefined;
  /** Known even for rows that are not loaded yet; null where only the row itself has it. */
  rowNoAt: (index: number) => number | null;
  /** The rows in view. */
  look: (first: number, end: number) => void;
  error: unknown;
  isLoading: boolean;
  refetch: () => void;
}

const blockRows = 200;
/** Dragging the bar passes thousands of blocks: a block is loaded only where the bar pauses. */
const lookEveryMs = 120;
const keptMs = 60_000;

interface Range {
  first: number;
  end: number;
}

/** All rows of a job, from any position: the number of a row is its position. */
export function useAllRows(
  job: ItemJob,
  { isDescending, withInput }: { isDescending: boolean; withInput: boolean },
): GridSource {
  const { jobId, totalItems: count } = job;
  const [range, look] = useThrottledRange();
  const rowNoOf = useCallback(
    (index: number) => (isDescending ? count - index : index + 1),
    [isDescending, count],
  );
  const blocks = blocksOf([rowNoOf(range.first), rowNoOf(Math.max(range.first, range.end - 1))], count);
  const queries = useQueries({
    queries: blocks.map((block) => ({
      queryKey: ['items', 'rows', jobId, { withInput, block }],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        getRows(jobId, { fromRow: block * blockRows + 1, pageSize: blockRows, input: withInput }, signal),
      gcTime: keptMs,
      enabled: count > 0,
    })),
  });
  const answers = queries.map(({ data }) => data);
  const rows = useStableRows(answers);
  const rowAt = useCallback((index: number) => rows.get(rowNoOf(index)), [rows, rowNoOf]);
  return {
    count,
    rowAt,
    rowNoAt: rowNoOf,
    look,
    error: queries.find(({ error }) => error !== null)?.error ?? null,
    isLoading: queries.some(({ isPending }) => isPending),
    refetch: () => void Promise.all(queries.map((query) => query.refetch())),
  };
}

/** Which blocks hold these rows, by number. */
function blocksOf(rowNos: readonly [number, number], count: number): number[] {
  const last = Math.max(0, Math.ceil(count / blockRows) - 1);
  const block = (rowNo: number) => Math.min(last, Math.max(0, Math.floor((rowNo - 1) / blockRows)));
  const [from, to] = [block(Math.min(...rowNos)), block(Math.max(...rowNos))];
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}

/** The same map as long as the responses are the same: unchanged rows are not rendered again. */
function useStableRows(answers: readonly (RowsPage | undefined)[]): ReadonlyMap<number, GridRow> {
  const kept = useRef<{ answers: readonly (RowsPage | undefined)[]; rows: Map<number, GridRow> }>({
    answers: [],
    rows: new Map(),
  });
  const { current } = kept;
  const isSame =
    current.answers.length === answers.length &&
    answers.every((answer, index) => answer === current.answers[index]);
  if (!isSame) {
    const rows = answers.flatMap((answer) => answer?.data ?? []);
    kept.current = { answers: [...answers], rows: new Map(rows.map((row) => [row.rowNo, row])) };
  }
  return kept.current.rows;
}

function useThrottledRange(): [Range, GridSource['look']] {
  const [range, setRange] = useState<Range>({ first: 0, end: 1 });
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const wanted = useRef(range);
  const look = useCallback((first: number, end: number) => {
    wanted.current = { first, end };
    timer.current ??= setTimeout(() => {
      timer.current = null;
      setRange((before) =>
        before.first === wanted.current.first && before.end === wanted.current.end ? before : wanted.current,
      );
    }, lookEveryMs);
  }, []);
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current);
    },
    [],
  );
  return [range, look];
}

const pageRows = 200;
const rowKey = ({ id }: GridRow) => id;

interface Filter {
  statuses: readonly ItemStatus[];
  errorCode: string | undefined;
  fromRow: number | undefined;
  order: RowOrder | undefined;
  withInput: boolean;
}

/** Filtered rows of a job: the position of the hundredth error is unknown, so they load page by page. */
export function useSomeRows(
  job: ItemJob,
  { statuses, errorCode, fromRow, order, withInput }: Filter,
): GridSource {
  const { jobId } = job;
  const isOpenOnly = statuses.every((status) => openStatuses.includes(status));
  const start = isOpenOnly || order !== undefined ? undefined : fromRow;
  const list = useKeysetList<GridRow>({
    queryKey: ['items', 'some', jobId, { statuses, errorCode, start, order, withInput }],
    fetchPage: (after, signal) => {
      const place = after === undefined ? { fromRow: start } : { after };
      const which = { statuses, errorCode, ...orderQuery(order) };
      return getRows(jobId, { ...place, ...which, pageSize: pageRows, input: withInput }, signal);
    },
    rowKey,
    announcesNew: false,
  });
  const { rows, hasMore, isLoadingMore, loadMore } = list;
  const latest = useRef({ hasMore, isLoadingMore, loadMore, count: rows.length });
  latest.current = { hasMore, isLoadingMore, loadMore, count: rows.length };
  const look = useCallback((_first: number, end: number) => {
    const { current } = latest;
    if (current.hasMore && !current.isLoadingMore && end > current.count - pageRows / 2) current.loadMore();
  }, []);
  const rowAt = useCallback((index: number) => rows[index], [rows]);
  const rowNoAt = useCallback((index: number) => rows[index]?.rowNo ?? null, [rows]);
  const { error, isLoading, refetch } = list;
  return { count: rows.length, rowAt, rowNoAt, look, error, isLoading, refetch };
}
