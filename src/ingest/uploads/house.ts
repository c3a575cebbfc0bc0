import type { Registry } from 'prom-client';
import type { Files } from '../../kernel/files/types.ts';
import type { RouteModule } from '../../kernel/http/route.ts';
import type { Kernel } from '../../kernel/jobs/kernel.ts';
import type { Pipeline } from '../../kernel/jobs/types.ts';
import type { WakeUp } from '../../kernel/jobs/wake-up.ts';
import type { UpkeepTask } from '../../kernel/upkeep/types.ts';
import type { Logger } from '../../lib/log.ts';
import type { Database } from '../../lib/postgres/db.ts';
import { FolderWatch } from './intake/folder-watch.ts';
import { type UploadIntake, uploadIntake } from './intake/intake.ts';
import { UploadMetrics } from './metrics.ts';
import { uploadsPipeline } from './pipeline.ts';
import { uploadRoutes } from './routes.ts';
import { failAbandoned, purgeStaging } from './service.ts';

export interface UploadHouseOptions {
  db: Database;
  files: Files;
  wake: WakeUp;
  logger: Logger;
  registry: Registry;
  maxReportBytes: number;
  stagingRetentionDays: number;
  ingestFolder: string | null;
  uploadWatchFolder: string | null;
  uploadSliceMs: number;
  /** How many lines one transaction stages; a default applies when it is not given. */
  linesPerBatch?: number | undefined;
}

/** The house of uploads, wired. */
export interface UploadHouse {
  pipeline: Pipeline;
  routes(kernel: Kernel): RouteModule[];
  /** For files that arrive without a request. */
  intake(kernel: Kernel): UploadIntake;
  tasks(kernel: Kernel): UpkeepTask[];
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const watchMs = 2_000;

export function openUploadHouse(options: UploadHouseOptions): UploadHouse {
  const metrics = new UploadMetrics(options.registry);
  const deps = { ...options, metrics };
  const intakeDeps = (kernel: Kernel) => ({
    ...options,
    maxUploadBytes: options.maxReportBytes,
    registry: kernel.registry,
    wake: kernel.wake,
    metrics: kernel.metrics,
    quotas: kernel.quotas,
  });
  return {
    pipeline: uploadsPipeline({ ...deps, sliceMs: options.uploadSliceMs }),
    routes: (kernel) => [uploadRoutes(intakeDeps(kernel))],
    intake: (kernel) => uploadIntake(intakeDeps(kernel)),
    tasks: (kernel) => [
      {
        // Runs every hour, because a run is bounded: the next one deletes what it left.
        name: 'purge_staging',
        everyMs: hourMs,
        run: async () => ({ ...(await purgeStaging(deps, { days: options.stagingRetentionDays })) }),
      },
      {
        name: 'fail_abandoned_uploads',
        everyMs: minuteMs,
        run: async () => ({ ...(await failAbandoned(deps)) }),
      },
      ...watchTasks(options.uploadWatchFolder, intakeDeps(kernel)),
    ],
  };
}

function watchTasks(folder: string | null, deps: ConstructorParameters<typeof FolderWatch>[0]): UpkeepTask[] {
  if (folder === null) return [];
  const watch = new FolderWatch(deps, folder);
  return [{ name: 'watch_upload_folder', everyMs: watchMs, run: async () => ({ ...(await watch.scan()) }) }];
}
