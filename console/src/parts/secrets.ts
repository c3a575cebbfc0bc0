import { queryOptions } from '@tanstack/react-query';
import { api, type Reply } from '../api/client.ts';

export type Secret = Reply<'/api/secrets'>['data'][number];

export const secretsQuery = queryOptions({
  queryKey: ['settings', 'secrets'],
  queryFn: ({ signal }) => api.get('/api/secrets', { signal }),
});

/** Names of the secrets that can be used for this. */
export function usableFor(
  secrets: readonly Pick<Secret, 'name' | 'uses' | 'needs_hosts'>[],
  use: string,
): string[] {
  return secrets
    .filter(({ uses, needs_hosts }) => !needs_hosts && (uses === null || uses.includes(use)))
    .map(({ name }) => name);
}

/** A list as people type it: separated by commas, spaces or lines. */
export function listOf(text: string): string[] {
  return [...new Set(text.split(/[\s,;]+/).filter((part) => part !== ''))];
}
