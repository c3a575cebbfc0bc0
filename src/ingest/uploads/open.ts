import type { FileDoor, ReportTarget } from '../../kernel/house/doors.ts';
import type { Ground, OpenHouse } from '../../kernel/house/house.ts';
import type { UpkeepTask } from '../../kernel/upkeep/types.ts';
import { isId } from '../../lib/ids.ts';
import type { SettingValues } from '../../lib/settings/settings.ts';
import { uploadFindables } from './find-store.ts';
import { FolderWatch } from './intake/folder-watch.ts';
import { uploadDoor } from './intake/intake.ts';
import { UploadMetrics } from './metrics.ts';
import { uploadsPipeline } from './pipeline.ts';
import { listJobsInReview, listUploadAttention } from './review/attention-store.ts';
import { uploadRoutes } from './routes.ts';
import { failAbandoned, purgeStaging } from './service.ts';
import type { uploadSettings } from './settings.ts';
import { listUploadNames } from './store.ts';

export interface UploadHouseOptions
  extends Pick<Ground, 'db' | 'files' | 'workbooks' | 'logger' | 'registry' | 'kernel'>,
    SettingValues<typeof uploadSettings> {
  ingestFolder: string | null;
  /** Lines that one transaction stages; the usual number when it is not given. */
  linesPerBatch?: number | undefined;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const watchMs = 2_000;

export type UploadHouse = ReturnType<typeof openUploadHouse>;

export function openUploadHouse(options: UploadHouseOptions) {
  const metrics = new UploadMetrics(options.registry);
  const { wake } = options.kernel;
  const deps = { ...options, wake, metrics };
  const intake = {
    ...options,
    maxUploadBytes: options.maxReportBytes,
    maxUnfoldedBytes: options.maxUnfoldedReportBytes,
    ...options.kernel.jobs,
  };
  return {
    pipeline: uploadsPipeline({ ...deps, sliceMs: options.uploadSliceMs }),
    routes: [uploadRoutes(intake)],
    // For files that do not come with a request.
    door: uploadDoor(intake),
    findables: uploadFindables,
    subjectNames: listUploadNames,
    rowCounter: 'total_rows',
    attention: listUploadAttention,
    // Such a job counts as running, but nothing runs until somebody has looked.
    details: async (tenantId, jobs) => {
      const uploadIds = jobs.map(({ subjectId }) => subjectId).filter(isId);
      const held = await options.db.read(tenantId, (tx) => listJobsInReview(tx, { tenantId, uploadIds }));
      return new Map(held.map((jobId) => [jobId, { waitingFor: 'review' }]));
    },
    tasks: [
      {
        // Daily work, spread over the day: a run is bounded, and what it leaves goes with the next.
        name: 'purge_staging',
        everyMs: hourMs,
        run: async () => ({ ...(await purgeStaging(deps, { days: options.stagingRetentionDays })) }),
      },
      {
        name: 'fail_abandoned_uploads',
        everyMs: minuteMs,
        run: async () => ({ ...(await failAbandoned(deps)) }),
      },
      ...watchTasks(options.uploadWatchFolder, intake),
    ],
  } satisfies OpenHouse & { door: FileDoor<ReportTarget> };
}

function watchTasks(folder: string | null, deps: ConstructorParameters<typeof FolderWatch>[0]): UpkeepTask[] {
  if (folder === null) return [];
  const watch = new FolderWatch(deps, folder);
  return [{ name: 'watch_upload_folder', everyMs: watchMs, run: async () => ({ ...(await watch.scan()) }) }];
}
