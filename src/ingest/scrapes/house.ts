import type { Registry } from 'prom-client';
import type { Wait } from '../../kernel/crawl/polite-requests.ts';
import type { CrawlBounds } from '../../kernel/crawl/types.ts';
import type { RouteModule } from '../../kernel/http/route.ts';
import type { JobsDeps } from '../../kernel/jobs/service.ts';
import type { Pipeline } from '../../kernel/jobs/types.ts';
import type { UpkeepTask } from '../../kernel/upkeep/types.ts';
import type { GuardedFetch } from '../../lib/fetch/guarded-fetch.ts';
import type { Logger } from '../../lib/log.ts';
import type { Database } from '../../lib/postgres/db.ts';
import { ScrapeMetrics } from './metrics.ts';
import { scrapePipeline } from './pipeline.ts';
import { scrapeRoutes } from './routes.ts';
import type { KnowledgeDoor } from './types.ts';
import { scrapeTasks } from './upkeep.ts';

export interface ScrapeHouseOptions {
  db: Database;
  logger: Logger;
  registry: Registry;
  fetch: GuardedFetch;
  /** Receives the references. */
  knowledge: KnowledgeDoor;
  handoffMaxAttempts: number;
  handoffRetryBaseMs: number;
  scrapeMaxReferences: number;
  scrapeMaxBodyBytes: number;
  scrapeMaxSources: number;
  scrapeSliceMs: number;
  jobRetentionDays: number;
  /** Bounds of crawls; default: those of the kernel. */
  bounds?: Partial<CrawlBounds> | undefined;
  wait?: Wait | undefined;
}

/** The house of scrapes, wired. */
export interface ScrapeHouse {
  pipeline: Pipeline;
  /** Connects the kernel, which creates the jobs of hand-offs; it needs the pipelines first. */
  connect(kernel: JobsDeps): void;
  routes(kernel: JobsDeps): RouteModule[];
  tasks(kernel: JobsDeps): UpkeepTask[];
}

export function openScrapeHouse(options: ScrapeHouseOptions): ScrapeHouse {
  const { db, logger, fetch, knowledge, jobRetentionDays, bounds, wait } = options;
  const scrapes = new ScrapeMetrics(options.registry);
  const policy = { maxAttempts: options.handoffMaxAttempts, retryBaseMs: options.handoffRetryBaseMs };
  let connected: JobsDeps | undefined;
  const handOverDeps = ({ wake, registry, metrics, quotas }: JobsDeps) => {
    return { db, logger, knowledge, policy, scrapes, wake, registry, metrics, quotas };
  };
  const crawlDeps = () => {
    if (!connected) throw new Error('The house of scrapes is not connected to a kernel yet');
    return {
      ...handOverDeps(connected),
      fetch,
      sliceMs: options.scrapeSliceMs,
      ...(bounds ? { bounds } : {}),
      ...(wait ? { wait } : {}),
    };
  };
  return {
    pipeline: scrapePipeline(crawlDeps),
    connect(kernel) {
      connected = kernel;
    },
    routes: (kernel) => [
      scrapeRoutes({
        ...handOverDeps(kernel),
        maxSources: options.scrapeMaxSources,
        maxReferences: options.scrapeMaxReferences,
        maxBodyBytes: options.scrapeMaxBodyBytes,
      }),
    ],
    tasks: (kernel) => scrapeTasks({ ...handOverDeps(kernel), jobRetentionDays }),
  };
}
