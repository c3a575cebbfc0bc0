import type { Area } from '../api/live-areas.ts';
import type { IconName } from './icons.tsx';

export interface Place {
  to: string;
  label: string;
  icon: IconName;
  /** After `g`. */
  key: string | null;
  group: 'top' | 'pipelines' | 'below';
  area: Area;
  /** Who has not this right does not see it in the rail. */
  right?: string;
  /** For finding it in the palette. */
  words: string;
}

/** Where one can go: the rail, the palette and the `g` keys all read this list. */
export const places: readonly Place[] = [
  {
    to: '/',
    label: 'Overview',
    icon: 'home',
    key: 'o',
    group: 'top',
    area: 'overview',
    words: 'home start needs you',
  },
  {
    to: '/uploads',
    label: 'Uploads',
    icon: 'upload',
    key: 'u',
    group: 'pipelines',
    area: 'uploads',
    words: 'reports csv ads',
  },
  {
    to: '/data',
    label: 'Data',
    icon: 'chart',
    key: 'f',
    group: 'pipelines',
    area: 'uploads',
    words: 'figures totals spend campaigns export parquet',
  },
  {
    to: '/items',
    label: 'Items',
    icon: 'grid',
    key: 'i',
    group: 'pipelines',
    area: 'items',
    words: 'rows enrich grid',
  },
  {
    to: '/knowledge',
    label: 'Knowledge',
    icon: 'book',
    key: 'k',
    group: 'pipelines',
    area: 'knowledge',
    words: 'documents bases',
  },
  {
    to: '/search',
    label: 'Search',
    icon: 'search',
    key: 'q',
    group: 'pipelines',
    area: 'knowledge',
    words: 'find passages answers questions knowledge',
  },
  {
    to: '/scrapes',
    label: 'Scrapes',
    icon: 'globe',
    key: 's',
    group: 'pipelines',
    area: 'scrapes',
    words: 'crawl sources hand-offs',
  },
  {
    to: '/connectors',
    label: 'Connectors',
    icon: 'plug',
    key: 'c',
    group: 'pipelines',
    area: 'connectors',
    words: 'airbyte syncs',
  },
  {
    to: '/jobs',
    label: 'Jobs',
    icon: 'list',
    key: 'j',
    group: 'below',
    area: 'jobs',
    words: 'all pipelines queue',
  },
  {
    to: '/pending',
    label: 'Pending',
    icon: 'hourglass',
    key: 'p',
    group: 'below',
    area: 'pending',
    words: 'open rows',
  },
  {
    to: '/providers',
    label: 'Providers',
    icon: 'external',
    key: 'v',
    group: 'below',
    area: 'items',
    words: 'rate limit budget breaker pace calls cost',
  },
  {
    to: '/catalogs',
    label: 'Catalogues',
    icon: 'columns',
    key: 'l',
    group: 'below',
    area: 'catalogs',
    words: 'products match sku titles catalogs',
  },
  {
    to: '/adapters',
    label: 'Adapters',
    icon: 'download',
    key: 'a',
    group: 'below',
    area: 'adapters',
    words: 'folder s3 ftp scan files',
  },
  {
    to: '/dead-letters',
    label: 'Dead letters',
    icon: 'inboxX',
    key: 'd',
    group: 'below',
    area: 'dead-letters',
    right: 'dead_letter.read',
    words: 'failed requeue',
  },
  {
    to: '/events',
    label: 'Events',
    icon: 'activity',
    key: 'e',
    group: 'below',
    area: 'events',
    words: 'audit log history',
  },
  {
    to: '/webhooks',
    label: 'Webhooks',
    icon: 'webhook',
    key: 'w',
    group: 'below',
    area: 'webhooks',
    right: 'webhook.manage',
    words: 'endpoints deliveries',
  },
  {
    to: '/settings',
    label: 'Settings',
    icon: 'settings',
    key: ',',
    group: 'below',
    area: 'settings',
    words: 'workspaces users keys secrets tenant',
  },
];
