import { readStatus } from '../../kernel/jobs/shared-store.ts';
import type { Database } from '../../lib/db.ts';
import type { Logger } from '../../lib/log.ts';
import { notRunning } from './batch.ts';
import type { ItemJob } from './types.ts';

const lookMs = 1_000;

/**
 * The signal of a turn, aborted as well once somebody cancels the job: a call that hangs would keep its rows, and the
 * end of the job, for as long as a call may take.
 */
export function watchForCancel(
  { db, logger }: { db: Database; logger: Logger },
  { job, signal }: { job: ItemJob; signal: AbortSignal },
): { signal: AbortSignal; stop(): void } {
  const controller = new AbortController();
  const follow = () => controller.abort(signal.reason);
  const look = async () => {
    const status = await db.tenant(job.tenantId, (tx) => readStatus(tx, job));
    if (status !== 'running' && status !== 'paused') controller.abort(notRunning(job));
  };
  const timer = setInterval(() => {
    look().catch((err: unknown) => logger.debug({ err, job_id: job.jobId }, 'a job could not be looked at'));
  }, lookMs);
  signal.addEventListener('abort', follow, { once: true });
  if (signal.aborted) follow();
  return {
    signal: controller.signal,
    stop() {
      clearInterval(timer);
      signal.removeEventListener('abort', follow);
    },
  };
}
