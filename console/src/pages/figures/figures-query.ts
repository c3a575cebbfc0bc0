import { queryOptions } from '@tanstack/react-query';
import { api, type QueryOf } from '../../api/client.ts';

export type FigureQuery = QueryOf<'/api/data/summary'>;

/** The totals of all groups, and what to know about them. */
export function totalsQuery({ sort: _, order: __, ...query }: FigureQuery) {
  return queryOptions({
    queryKey: ['uploads', 'figures', 'totals', query],
    queryFn: ({ signal }) => api.get('/api/data/summary', { query: { ...query, limit: 1 }, signal }),
  });
}

/** The figures over time, for the chart. */
export function courseQuery({ sort: _, order: __, ...query }: FigureQuery, step: 'day' | 'week') {
  return queryOptions({
    queryKey: ['uploads', 'figures', 'course', query, step],
    queryFn: ({ signal }) =>
      api.get('/api/data/summary', {
        query: { ...query, group_by: step, limit: 500 },
        signal,
      }),
  });
}

/** The stored rows behind figures. */
export function lineageQuery(behind: string | undefined) {
  return queryOptions({
    queryKey: ['uploads', 'figures', 'lineage', behind],
    queryFn: ({ signal }) =>
      api.get('/api/data/lineage', { query: { ...asked(behind), limit: 100 }, signal }),
    enabled: behind !== undefined,
  });
}

const asked = (behind: string | undefined) =>
  Object.fromEntries(new URLSearchParams(behind)) as QueryOf<'/api/data/lineage'>;
