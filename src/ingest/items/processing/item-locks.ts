import type { Turn } from '../../../kernel/jobs/types.ts';
import type { Logger } from '../../../lib/log.ts';
import type { Database } from '../../../lib/postgres/db.ts';
import type { ItemBounds, ItemJob } from '../types.ts';
import { notRunning } from './batch.ts';
import { renewLocks } from './store.ts';

/** The locks of one claim. */
export interface HeldLocks {
  lockToken: string;
  lockMs: number;
  renewal: { atMs: number };
}

interface LockDeps {
  db: Database;
  logger: Logger;
  bounds: Pick<ItemBounds, 'lockCapMs'>;
}

/** Before every outside call: the lock must still be ours, and last long enough. */
export async function holdOn(
  { db }: Pick<LockDeps, 'db'>,
  { turn, job }: { turn: Turn; job: ItemJob },
  claim: HeldLocks,
): Promise<void> {
  turn.signal.throwIfAborted();
  const now = performance.now();
  if (now - claim.renewal.atMs < claim.lockMs / 2) return;
  const held = await db.tenant(job.tenantId, (tx) => renewLocks(tx, { ...job, ...claim }));
  if (held === 0) throw notRunning(job);
  claim.renewal.atMs = now;
}

/**
 * One call may take longer than the lock, and so may waiting for a provider's pace. A live worker keeps its items
 * meanwhile, up to the longest lock; a stopped or dead one does not renew.
 */
export function renewWhileWorking(
  { db, logger, bounds }: LockDeps,
  { job, turn }: { job: ItemJob; turn: Pick<Turn, 'job'> },
  claim: HeldLocks,
): () => void {
  const untilMs = performance.now() + bounds.lockCapMs;
  const renew = async (): Promise<void> => {
    const now = performance.now();
    if (now > untilMs) return;
    const held = await db.tenant(job.tenantId, (tx) => renewLocks(tx, { ...job, ...claim }));
    if (held > 0) claim.renewal.atMs = now;
  };
  const timer = setInterval(() => {
    renew().catch((err: unknown) =>
      logger.debug(
        { err, job_id: job.jobId, correlation_id: turn.job.correlationId },
        'item locks could not be renewed',
      ),
    );
  }, claim.lockMs / 3);
  return () => clearInterval(timer);
}
