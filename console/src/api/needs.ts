import { queryOptions, useQuery } from '@tanstack/react-query';
import { count, plural } from '../parts/number.ts';
import { api } from './client.ts';
import type { Overview } from './types.ts';

export interface Need {
  kind: string;
  sentence: string;
  /** In small type beside the sentence. */
  code: string | null;
  count: number;
  href: string;
  oldestAt: string | null;
}

type Raw = Overview['needs_you'][number];

interface Wording {
  words: (need: Raw) => string;
  href: (need: Raw) => string;
}

const wordings: Record<string, Wording> = {
  dead_letters: {
    words: ({ count: n, code }) => `${plural(n, 'dead letter')}: ${codeWords(code)}`,
    href: ({ code }) => `/dead-letters${code === null ? '' : `?error_code=${encodeURIComponent(code)}`}`,
  },
  uploads_in_review: {
    words: ({ count: n }) => plural(n, 'upload waits for your review', 'uploads wait for your review'),
    href: ({ subject_id }) => one('/uploads', subject_id) ?? '/uploads?status=staging_complete',
  },
  uploads_failed: {
    words: ({ count: n, code }) =>
      `${plural(n, 'upload')} failed in the last 24 h${code ? `: ${codeWords(code)}` : ''}`,
    href: ({ subject_id }) => one('/uploads', subject_id) ?? '/uploads?status=failed',
  },
  connectors_failing: {
    words: ({ count: n, code }) =>
      `${plural(n, 'connector fails', 'connectors fail')} to sync${code ? `: ${codeWords(code)}` : ''}`,
    href: ({ subject_id }) => one('/connectors', subject_id) ?? '/connectors',
  },
  sources_failing: {
    words: ({ count: n, code }) =>
      `${plural(n, 'source', 'sources')} of reports cannot be pulled${code ? `: ${codeWords(code)}` : ''}`,
    href: ({ subject_id: id }) => `/uploads/sources${id ? `?source=${encodeURIComponent(id)}` : ''}`,
  },
  webhooks_disabled: {
    words: ({ count: n }) => plural(n, 'webhook was switched off', 'webhooks were switched off'),
    href: () => '/webhooks',
  },
};

export const overviewQuery = queryOptions({
  queryKey: ['overview'],
  queryFn: () => api.get('/api/stats/overview'),
  // Time passes without events too: "waiting since", and the hours that drop out of the day.
  refetchInterval: 30_000,
});

/** What waits for a person, each with its number and where to go. */
export function useNeeds(): { needs: Need[]; total: number } {
  const needs = (useQuery(overviewQuery).data?.needs_you ?? []).map(needOf);
  return { needs, total: needs.reduce((sum, need) => sum + need.count, 0) };
}

export function needOf(raw: Raw): Need {
  const wording = wordings[raw.kind];
  return {
    kind: raw.kind,
    sentence: wording?.words(raw) ?? `${count(raw.count)} ${raw.kind.replaceAll('_', ' ')}`,
    code: raw.code,
    count: raw.count,
    href: wording?.href(raw) ?? '/jobs',
    oldestAt: raw.oldest_at,
  };
}

/** `invalid_credentials` reads as "invalid credentials". */
export function codeWords(code: string | null): string {
  return code === null ? 'no error code' : code.replaceAll('_', ' ');
}

function one(path: string, subjectId: string | null): string | null {
  return subjectId === null ? null : `${path}/${encodeURIComponent(subjectId)}`;
}
