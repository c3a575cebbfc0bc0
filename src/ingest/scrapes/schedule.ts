import { isSluiceError } from '../../lib/errors.ts';
import { type SyncDeps, startCrawl } from './runs/sync.ts';
import { findSource, listDueSources, takeTick } from './store.ts';
import type { SourceKey } from './types.ts';

const batchSize = 200;
/** The crawl of the tick before is still at work, or the tenant's queue is full: the next tick will do. */
const passable = ['job_already_active', 'cleanup_in_progress', 'quota_exceeded'];

/** Starts the crawls that are due. Safe in many processes at once; missed ticks make one crawl. */
export async function startDueCrawls(deps: SyncDeps): Promise<{ started: number; passed: number }> {
  const due = await deps.db.kernel((tx) => listDueSources(tx, { limit: batchSize }));
  const report = { started: 0, passed: 0 };
  for (const key of due) report[await startDue(deps, key)] += 1;
  return report;
}

async function startDue(deps: SyncDeps, key: SourceKey): Promise<'started' | 'passed'> {
  const source = await deps.db.tenant(key.tenantId, (tx) => findSource(tx, key));
  if (source === null) return 'passed';
  try {
    // The tick moves in the transaction that creates the job: a crash in between loses neither.
    await startCrawl(deps, source, {
      createdBy: source.createdBy,
      beforeStart: async (tx) => {
        if (!(await takeTick(tx, key))) throw new AlreadyTaken();
      },
    });
    return 'started';
  } catch (error) {
    if (error instanceof AlreadyTaken) return 'passed';
    if (!isSluiceError(error) || !passable.includes(error.code)) throw error;
    await deps.db.tenant(key.tenantId, (tx) => takeTick(tx, key));
    return 'passed';
  }
}

/** Another process has taken this tick. */
class AlreadyTaken extends Error {}
