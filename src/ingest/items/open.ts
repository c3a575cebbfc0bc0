import type { CatalogDoor, FileDoor, RowsTarget } from '../../kernel/house/doors.ts';
import type { Ground, OpenHouse } from '../../kernel/house/house.ts';
import { isId } from '../../lib/ids.ts';
import { itemFindables } from './find-store.ts';
import { slowPageMs } from './grid/page-timing.ts';
import { pendingRoutes } from './grid/pending-routes.ts';
import { ImageDecoder } from './images/decoder.ts';
import { imagesOf } from './images/item-images.ts';
import { itemDoor } from './intake/intake.ts';
import { ItemRoom } from './intake/item-room.ts';
import { ItemMetrics, type PendingCount } from './metrics.ts';
import { itemsPipeline } from './pipeline.ts';
import { Lanes } from './processing/lanes.ts';
import { Pacing } from './processing/pacing.ts';
import type { ProcessorDefinition } from './processing/processors/custom/define-processor.ts';
import { AnswerChecks } from './processing/processors/llm/answer-checks.ts';
import { createProcessorRegistry } from './processing/processors/registry.ts';
import { RowChecks } from './processing/processors/validate/row-checks.ts';
import { StartLog } from './processing/turn-log.ts';
import { configuredProviders } from './providers/configured-providers.ts';
import { ProviderLimiter } from './providers/provider-limiter.ts';
import { providerRoutes } from './providers/routes.ts';
import { itemRoutes } from './routes.ts';
import { freeItemsLater, purgeItems, removeDeadIngests } from './service.ts';
import { countOpen, listItemJobs, listRowsFiles } from './store.ts';
import type { ItemBounds, ItemJob } from './types.ts';
import { itemJobName, renderItems } from './views.ts';

export interface ItemHouseOptions
  extends Pick<
    Ground,
    'db' | 'files' | 'workbooks' | 'logger' | 'registry' | 'fetch' | 'secrets' | 'kernel'
  > {
  catalogs: CatalogDoor;
  bounds: ItemBounds;
  ingestEnabled: boolean;
  globalPendingEnabled: boolean;
  maxUploadBytes: number;
  maxOpenItems: number;
  jobRetentionDays: number;
  ingestFolder: string | null;
  /** From when on a page of rows is logged as slow. */
  slowPageMs?: number;
  /** Of the config file, beside the built-in ones. */
  customProcessors?: readonly ProcessorDefinition[];
  /** Limits of providers in the config file, for tenants that set none. */
  providers?: readonly unknown[];
}

/** One batch is with the database while the next is being made. */
const pureLanes = 2;

export type ItemHouse = ReturnType<typeof openItemHouse>;

export function openItemHouse(options: ItemHouseOptions) {
  const { db, files, bounds, kernel, jobRetentionDays } = options;
  const { workerId } = kernel.membership;
  const decoder = new ImageDecoder();
  const rowChecks = new RowChecks();
  const answerChecks = new AnswerChecks();
  const metrics = new ItemMetrics(options.registry);
  const processors = createProcessorRegistry({
    catalogs: options.catalogs,
    rowChecks,
    answerChecks,
    custom: options.customProcessors,
  });
  metrics.watchPending(() => readPending(options));
  const pages = { metrics, slowMs: options.slowPageMs ?? slowPageMs };
  const defaultsOf = configuredProviders(options.providers ?? []);
  const pacing = new Pacing({
    bounds,
    onThrottled: (provider) => metrics.throttled.inc({ provider }),
    limiterOf: (key) => new ProviderLimiter(db, { key, workerId, defaults: defaultsOf(key.host) }),
  });
  const room = new ItemRoom(options);
  const intake = {
    ...options,
    addresses: options.fetch,
    processors,
    itemMetrics: metrics,
    pages,
    room,
    workerId,
    ...kernel.jobs,
  };
  return {
    pipeline: itemsPipeline({
      ...options,
      metrics,
      processors,
      pacing,
      wake: kernel.wake,
      imagesOf: (job) => imagesOf({ db, files, decoder }, job),
      lanes: new Lanes({ width: pureLanes }),
      starts: new StartLog(),
    }),
    routes: [
      itemRoutes(intake),
      pendingRoutes({ enabled: options.globalPendingEnabled, pages }),
      providerRoutes({ wake: kernel.wake, defaultsOf }),
    ],
    // For files that do not come with a request.
    door: itemDoor(intake),
    onWorkersLost: async (workerIds) =>
      freeItemsLater({ db, wake: kernel.wake, logger: options.logger }, workerIds),
    rowCounter: 'total',
    findables: itemFindables,
    subjectNames: async (tx, { tenantId, subjectIds }) => {
      const rows = await listItemJobs(tx, { tenantId, jobIds: subjectIds.filter(isId) });
      return rows.map((row) => ({ subjectId: row.jobId, name: itemJobName(row) }));
    },
    details: (tenantId, jobs) =>
      describeJobs({ db, pacing }, { tenantId, jobIds: jobs.map(({ jobId }) => jobId) }),
    close: async () => void (await Promise.all([decoder.close(), rowChecks.close(), answerChecks.close()])),
    tasks: [
      { name: 'remove_dead_ingests', everyMs: 60_000, run: () => removeDeadIngests(db, { files }) },
      { name: 'purge_items', everyMs: 60 * 60_000, run: () => purgeItems(db, { days: jobRetentionDays }) },
    ],
  } satisfies OpenHouse & { door: FileDoor<RowsTarget> };
}

async function describeJobs(
  { db, pacing }: { db: ItemHouseOptions['db']; pacing: Pacing },
  { tenantId, jobIds }: { tenantId: string; jobIds: string[] },
) {
  return db.tenant(tenantId, async (tx) => {
    const rows = await listItemJobs(tx, { tenantId, jobIds });
    const files = await listRowsFiles(tx, { tenantId, fileIds: rows.flatMap(({ fileId }) => fileId ?? []) });
    const fileOf = new Map(files.map((file) => [file.fileId, file]));
    const render = (row: ItemJob) =>
      renderItems(row, pacing.describeLive(row.jobId), fileOf.get(row.fileId ?? ''));
    return new Map(rows.map((row) => [row.jobId, render(row)]));
  });
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
