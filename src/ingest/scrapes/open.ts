import type { Wait } from '../../kernel/crawl/polite-requests.ts';
import type { CrawlBounds } from '../../kernel/crawl/types.ts';
import type { Ground, OpenHouse } from '../../kernel/house/house.ts';
import type { SettingValues } from '../../lib/settings/settings.ts';
import { scrapeFindables } from './find-store.ts';
import { ScrapeMetrics } from './metrics.ts';
import { scrapePipeline } from './pipeline.ts';
import { listReferenceTitles } from './references/reference-store.ts';
import { scrapeRoutes } from './routes.ts';
import type { scrapeSettings } from './settings.ts';
import type { KnowledgeDoor } from './types.ts';
import { scrapeTasks } from './upkeep.ts';

export interface ScrapeHouseOptions
  extends Pick<Ground, 'db' | 'logger' | 'registry' | 'fetch' | 'kernel'>,
    SettingValues<typeof scrapeSettings> {
  jobRetentionDays: number;
  /** Where references are handed over to. */
  knowledge: KnowledgeDoor;
  /** Of crawls; as the kernel has them unless said otherwise. */
  bounds?: Partial<CrawlBounds> | undefined;
  wait?: Wait | undefined;
}

export type ScrapeHouse = ReturnType<typeof openScrapeHouse>;

export function openScrapeHouse(options: ScrapeHouseOptions) {
  const { db, logger, fetch, knowledge, jobRetentionDays, bounds, wait } = options;
  const scrapes = new ScrapeMetrics(options.registry);
  const policy = { maxAttempts: options.handoffMaxAttempts, retryBaseMs: options.handoffRetryBaseMs };
  const handOver = { ...options.kernel.jobs, db, logger, knowledge, policy, scrapes };
  return {
    pipeline: scrapePipeline({
      ...handOver,
      fetch,
      sliceMs: options.scrapeSliceMs,
      bounds,
      wait,
    }),
    routes: [
      scrapeRoutes({
        ...handOver,
        maxSources: options.scrapeMaxSources,
        maxReferences: options.scrapeMaxReferences,
        maxBodyBytes: options.scrapeMaxBodyBytes,
      }),
    ],
    tasks: scrapeTasks({ ...handOver, jobRetentionDays }),
    findables: scrapeFindables,
    // A hand-off becomes a job of the knowledge base, about the reference.
    guestNames: { pipeline: 'knowledge', names: listReferenceTitles },
    rowCounter: 'persisted',
  } satisfies OpenHouse;
}
