import type { Event } from './types.ts';

/** The first word of every query key. An event of an area makes its queries load again. */
export const areas = [
  'me',
  'overview',
  'stats',
  'jobs',
  'items',
  'pending',
  'catalogs',
  'adapters',
  'uploads',
  'knowledge',
  'scrapes',
  'connectors',
  'dead-letters',
  'events',
  'webhooks',
  'settings',
] as const;
export type Area = (typeof areas)[number];

const counted: Area[] = ['overview', 'stats'];

/** By prefix of an event's type; the longest match counts. */
const areasOfType: Record<string, readonly Area[]> = {
  'job.': ['jobs', 'dead-letters', ...counted],
  'item.': ['items', 'pending', 'jobs', ...counted],
  'upload.': ['uploads', ...counted],
  'ingestion.': ['uploads', 'knowledge', ...counted],
  'knowledge.': ['knowledge', ...counted],
  'handoff.': ['scrapes', ...counted],
  'scrape.': ['scrapes', ...counted],
  'sync.': ['connectors', ...counted],
  'connector.': ['connectors', ...counted],
  'webhook.': ['webhooks', ...counted],
};

/** A job's events are about its pipeline's own page as well. */
const areasOfPipeline: Record<string, readonly Area[]> = {
  items: ['items', 'pending', 'adapters'],
  uploads: ['uploads', 'adapters'],
  pulls: ['uploads'],
  knowledge: ['knowledge'],
  scrapes: ['scrapes'],
  sync: ['connectors'],
};

/** Which areas an event makes out of date; an unknown type concerns only the log. */
export function areasTouchedBy(event: Pick<Event, 'type' | 'data'>): Area[] {
  const prefix = Object.keys(areasOfType)
    .filter((beginning) => event.type.startsWith(beginning))
    .sort((a, b) => b.length - a.length)[0];
  const touched = new Set<Area>(['events']);
  for (const area of prefix === undefined ? [] : (areasOfType[prefix] ?? [])) touched.add(area);
  const pipeline = event.data.pipeline;
  for (const area of (typeof pipeline === 'string' && areasOfPipeline[pipeline]) || []) touched.add(area);
  // Events of jobs that do not name their pipeline could be about any page.
  if (event.type.startsWith('job.') && typeof pipeline !== 'string') {
    for (const area of Object.values(areasOfPipeline).flat()) touched.add(area);
  }
  return [...touched];
}
