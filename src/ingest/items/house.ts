import type { Registry } from 'prom-client';
import type { Files } from '../../kernel/files/types.ts';
import type { RouteModule } from '../../kernel/http/route.ts';
import type { Kernel } from '../../kernel/jobs/kernel.ts';
import type { JobDetails } from '../../kernel/jobs/routes.ts';
import type { Pipeline } from '../../kernel/jobs/types.ts';
import type { UpkeepTask } from '../../kernel/upkeep/types.ts';
import type { GuardedFetch } from '../../lib/fetch/guarded-fetch.ts';
import type { Logger } from '../../lib/log.ts';
import type { Database } from '../../lib/postgres/db.ts';
import { slowPageMs } from './grid/page-timing.ts';
import { pendingRoutes } from './grid/pending-routes.ts';
import { ImageDecoder } from './images/decoder.ts';
import { imagesOf } from './images/item-images.ts';
import { type ItemIntake, itemIntake } from './intake/intake.ts';
import { ItemMetrics, type PendingCount } from './metrics.ts';
import { itemsPipeline } from './pipeline.ts';
import { Lanes } from './processing/lanes.ts';
import { Pacing } from './processing/pacing.ts';
import type { CatalogLookups } from './processing/processors/catalog.ts';
import type { ProcessorDefinition } from './processing/processors/custom/define-processor.ts';
import { createProcessorRegistry } from './processing/processors/registry.ts';
import { itemRoutes } from './routes.ts';
import { freeItemsOf, removeDeadIngests } from './service.ts';
import { countOpen, listItemJobs } from './store.ts';
import { type ItemBounds, pipelineName } from './types.ts';
import { renderItems } from './views.ts';

export interface ItemHouseOptions {
  db: Database;
  files: Files;
  logger: Logger;
  registry: Registry;
  fetch: GuardedFetch;
  catalogs: CatalogLookups;
  secretOf(tenantId: string, name: string): Promise<string>;
  bounds: ItemBounds;
  ingestEnabled: boolean;
  globalPendingEnabled: boolean;
  maxUploadBytes: number;
  maxOpenItems: number;
  ingestFolder: string | null;
  /** From when on a page of rows is logged as slow. */
  slowPageMs?: number;
  /** Of the config file, beside the built-in ones. */
  customProcessors?: readonly ProcessorDefinition[];
}

/** One batch is with the database while the next is being made. */
const pureLanes = 2;

/** The house of items, wired: what it gives to the kernel, to the server and to upkeep. */
export interface ItemHouse {
  pipeline: Pipeline;
  routes(kernel: Kernel): RouteModule[];
  /** For files that do not come with a request. */
  intake(kernel: Kernel): ItemIntake;
  onWorkersLost(kernel: Kernel, workerIds: string[]): Promise<void>;
  tasks: UpkeepTask[];
  /** What /api/jobs shows of jobs with items. */
  details: JobDetails;
  close(): Promise<void>;
}

export function openItemHouse(options: ItemHouseOptions): ItemHouse {
  const { db, files, bounds } = options;
  const decoder = new ImageDecoder();
  const metrics = new ItemMetrics(options.registry);
  const processors = createProcessorRegistry({
    catalogs: options.catalogs,
    custom: options.customProcessors,
  });
  metrics.watchPending(() => readPending(options));
  const pages = { metrics, slowMs: options.slowPageMs ?? slowPageMs };
  const pacing = new Pacing({ bounds, onThrottled: (provider) => metrics.throttled.inc({ provider }) });
  const ingestDeps = (kernel: Kernel) => ({
    ...options,
    processors,
    itemMetrics: metrics,
    pages,
    workerId: kernel.membership.workerId,
    registry: kernel.registry,
    wake: kernel.wake,
    metrics: kernel.metrics,
    quotas: kernel.quotas,
  });
  return {
    pipeline: itemsPipeline({
      ...options,
      metrics,
      processors,
      pacing,
      imagesOf: (job) => imagesOf({ db, files, decoder }, job),
      lanes: new Lanes({ width: pureLanes }),
    }),
    routes: (kernel) => [
      itemRoutes(ingestDeps(kernel)),
      pendingRoutes({ enabled: options.globalPendingEnabled, pages }),
    ],
    intake: (kernel) => itemIntake(ingestDeps(kernel)),
    onWorkersLost: (kernel, workerIds) => freeItemsOf({ db, wake: kernel.wake }, workerIds),
    details: async (tenantId, jobs) => {
      const jobIds = jobs.filter(({ pipeline }) => pipeline === pipelineName).map(({ jobId }) => jobId);
      if (jobIds.length === 0) return new Map();
      const rows = await db.tenant(tenantId, (tx) => listItemJobs(tx, { tenantId, jobIds }));
      return new Map(rows.map((row) => [row.jobId, renderItems(row, pacing.describeLive(row.jobId))]));
    },
    close: () => decoder.close(),
    tasks: [{ name: 'remove_dead_ingests', everyMs: 60_000, run: () => removeDeadIngests(db, { files }) }],
  };
}

/** A scrape of the metrics must not fail because the database does. */
async function readPending({ db, logger }: ItemHouseOptions): Promise<PendingCount[]> {
  try {
    const { pending, processing } = await db.kernel(countOpen);
    return [
      { status: 'PENDING', count: pending },
      { status: 'PROCESSING', count: processing },
    ];
  } catch (error) {
    logger.warn({ err: error }, 'open items could not be counted for the metrics');
    return [];
  }
}
