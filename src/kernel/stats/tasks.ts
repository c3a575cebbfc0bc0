import type { Logger } from '../../lib/log.ts';
import type { Database } from '../../lib/postgres/db.ts';
import type { UpkeepTask } from '../upkeep/types.ts';
import { findStuckJobs } from './store.ts';

/** Logs the jobs that make no progress. */
export function stuckJobsTask({ db, logger }: { db: Database; logger: Logger }): UpkeepTask {
  return {
    name: 'report_stuck_jobs',
    everyMs: 5 * 60_000,
    run: async () => {
      const stuck = await db.kernel((tx) => findStuckJobs(tx, { limit: 100 }));
      for (const { jobId, tenantId, since } of stuck) {
        logger.warn({ job_id: jobId, tenant_id: tenantId, since }, 'a job makes no progress');
      }
      return { stuck: stuck.length };
    },
  };
}
