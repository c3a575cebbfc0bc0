import { readStatus } from '../../../kernel/jobs/shared/shared-store.ts';
import type { Turn } from '../../../kernel/jobs/types.ts';
import type { Logger } from '../../../lib/log.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import type { ItemJob } from '../types.ts';
import { notRunning } from './batch.ts';

const lookMs = 1_000;
const yieldMs = 100;

export interface JobWatch {
  /** Aborted with the turn, and when the job is canceled: running calls are cut off. */
  signal: AbortSignal;
  /** Aborted when no further call may start: the job is paused, the worker stops, or the turn's time is up. */
  ending: AbortSignal;
  stop(): void;
}

/**
 * Watches the status of a job while calls for its rows run. A hanging call would hold its rows, and the end of the job,
 * for as long as a call may take; and a paused job must start no further calls.
 */
export function watchJob(
  { db, logger }: { db: Database; logger: Logger },
  { job, turn }: { job: ItemJob; turn: Pick<Turn, 'job' | 'signal' | 'shouldYield'> },
): JobWatch {
  const canceling = new AbortController();
  const ending = new AbortController();
  const follow = () => canceling.abort(turn.signal.reason);
  const look = async () => {
    const status = await db.tenant(job.tenantId, (tx) => readStatus(tx, job));
    if (status === 'running') return;
    ending.abort();
    if (status !== 'paused') canceling.abort(notRunning(job));
  };
  const looking = setInterval(() => {
    look().catch((err: unknown) =>
      logger.debug(
        { err, job_id: job.jobId, correlation_id: turn.job.correlationId },
        'the status of a job could not be read',
      ),
    );
  }, lookMs);
  const yielding = setInterval(() => {
    if (turn.shouldYield()) ending.abort();
  }, yieldMs);
  turn.signal.addEventListener('abort', follow, { once: true });
  if (turn.signal.aborted) follow();
  return {
    signal: canceling.signal,
    ending: ending.signal,
    stop() {
      clearInterval(looking);
      clearInterval(yielding);
      turn.signal.removeEventListener('abort', follow);
    },
  };
}
