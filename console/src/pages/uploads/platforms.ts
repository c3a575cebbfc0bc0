import { queryOptions, useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';

export type Platform = string;

/** What people call the platforms that come with Sluice; those of the tenant have titles of their own. */
const platformTitles: Record<string, string> = {
  meta: 'Meta Ads',
  google: 'Google Ads',
  tiktok: 'TikTok Ads',
  microsoft: 'Microsoft Advertising',
  linkedin: 'LinkedIn Ads',
  pinterest: 'Pinterest Ads',
};

export function titleOf(platform: Platform): string {
  return platformTitles[platform] ?? platform;
}

export const platformsQuery = queryOptions({
  queryKey: ['uploads', 'platforms'],
  queryFn: ({ signal }) => api.get('/api/uploads/platforms', { signal }),
});

/** For a list to choose from; the built-in ones until the tenant's own are known. */
export function usePlatformChoices(): { value: Platform; label: string }[] {
  const { data } = useQuery(platformsQuery);
  const known = data?.data.map(({ name, title }) => ({ value: name, label: platformTitles[name] ?? title }));
  return known ?? Object.entries(platformTitles).map(([value, label]) => ({ value, label }));
}
