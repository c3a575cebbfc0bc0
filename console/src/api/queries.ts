import { MutationCache, QueryCache, QueryClient, queryOptions, useQuery } from '@tanstack/react-query';
import { ApiProblem, api } from './client.ts';
import { isPassing, Live } from './live.ts';
import type { Me } from './types.ts';

/** Called when a response is 401; main.tsx then opens the login page. */
let onLoggedOut: () => void = () => {};

export function whenLoggedOut(act: () => void): void {
  onLoggedOut = act;
}

function noticeLogout(error: unknown): void {
  if (error instanceof ApiProblem && error.status === 401) onLoggedOut();
}

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noticeLogout }),
  mutationCache: new MutationCache({ onError: noticeLogout }),
  defaultOptions: {
    queries: {
      // Events say what is out of date; polling is only for data without events.
      staleTime: 10_000,
      retry: (failures, error) => failures < 2 && isPassing(error),
      // Only a request shows whether the server is reachable: the browser's own flag is about its network card.
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
});

export const live = new Live(queryClient);

export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: () => api.get('/api/me'),
  staleTime: 60_000,
});

/** Who is logged in; pages below the shell are shown only once this is known. */
export function useMe(): Me | undefined {
  return useQuery(meQuery).data;
}

/** Whether the role gives a right, such as `dead_letter.requeue`. */
export function useCan(right: string): boolean {
  return useMe()?.rights.includes(right) ?? false;
}

export const workspacesQuery = queryOptions({
  queryKey: ['settings', 'workspaces'],
  queryFn: () => api.get('/api/workspaces', { query: { limit: 500 } }),
  staleTime: 60_000,
});
