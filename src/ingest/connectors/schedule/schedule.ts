import type { JobsDeps } from '../../../kernel/jobs/dispatch/service.ts';
import { nextTick, replannedTick } from '../../../kernel/schedule/ticks.ts';
import { isSluiceError } from '../../../lib/errors.ts';
import type { Logger } from '../../../lib/log.ts';
import { dispatchSyncIn } from '../sync/dispatch.ts';
import type { ConnectorKey } from '../types.ts';
import { listDue, listDueOf, lockPlanned, type Planned, saveSchedule } from './store.ts';

const batchSize = 500;
/** A tenant whose queue is full gets another try a little later. */
const crowdedMs = 60_000;

export interface ScheduleReport {
  dispatched: number;
  /** Already had an active sync, which counts for this tick. */
  busy: number;
  replanned: number;
  failed: number;
}

/** Creates the jobs of connectors that are due, of one tenant or of all. Safe in many processes at once. */
export async function scheduleDue(
  deps: JobsDeps,
  logger: Logger,
  { tenantId }: { tenantId?: string } = {},
): Promise<ScheduleReport> {
  const report: ScheduleReport = { dispatched: 0, busy: 0, replanned: 0, failed: 0 };
  const due = await deps.db.kernel((tx) =>
    tenantId === undefined ? listDue(tx, batchSize) : listDueOf(tx, { tenantId, limit: batchSize }),
  );
  for (const key of due) {
    const what = await scheduleOne(deps, key).catch((error: unknown): keyof ScheduleReport => {
      // A connector that cannot be scheduled must not hold up the others; the next run tries again.
      logger.error({ err: error, ...key }, 'a connector could not be scheduled');
      return 'failed';
    });
    if (what !== null) report[what] += 1;
  }
  return report;
}

async function scheduleOne(deps: JobsDeps, key: ConnectorKey): Promise<keyof ScheduleReport | null> {
  const hasRoom = await deps.quotas.assertRoom(key.tenantId).then(
    () => true,
    (error: unknown) => {
      if (isSluiceError(error) && error.code === 'quota_exceeded') return false;
      throw error;
    },
  );
  return deps.db.tenant(key.tenantId, async (tx) => {
    const planned = await lockPlanned(tx, key);
    if (planned === null) return null;
    const { plan: plannedFor, now, lastTickAt } = planned;
    if (planned.plannedFor !== planned.plan) {
      await saveSchedule(tx, key, { nextSyncAt: replannedTick(planned, now), lastTickAt, plannedFor });
      return 'replanned';
    }
    if (!isDue(planned)) return null;
    if (!hasRoom) {
      const nextSyncAt = new Date(now.getTime() + crowdedMs);
      await saveSchedule(tx, key, { nextSyncAt, lastTickAt, plannedFor });
      return 'busy';
    }
    await saveSchedule(tx, key, {
      nextSyncAt: nextTick({ ...planned, dueAt: planned.nextSyncAt }, now),
      lastTickAt: now,
      plannedFor,
    });
    try {
      await dispatchSyncIn(deps, tx, planned, { createdBy: 'schedule', userId: null });
      return 'dispatched';
    } catch (error) {
      if (isSluiceError(error) && ['job_already_active', 'cleanup_in_progress'].includes(error.code))
        return 'busy';
      throw error;
    }
  });
}

function isDue({ enabled, nextSyncAt, now }: Planned): boolean {
  return enabled && nextSyncAt.getTime() <= now.getTime();
}
