import type { JobsDeps } from '../../../kernel/jobs/dispatch/service.ts';
import { nextTick, replannedTick } from '../../../kernel/schedule/ticks.ts';
import { isSluiceError } from '../../../lib/errors.ts';
import type { Logger } from '../../../lib/log.ts';
import { dispatchPullIn } from '../dispatch.ts';
import type { SourceKey } from '../types.ts';
import { listDue, lockPlanned, saveSchedule } from './store.ts';

const batchSize = 500;
/** A tenant whose queue is full gets another try a little later. */
const crowdedMs = 60_000;

export interface ScheduleReport {
  dispatched: number;
  /** A pull is active, which counts for this tick, or the tenant's queue is full. */
  busy: number;
  replanned: number;
  failed: number;
}

/** Creates the pulls that are due, of one tenant or of all. Safe in many processes at once. */
export async function scheduleDuePulls(
  deps: JobsDeps,
  logger: Logger,
  { tenantId }: { tenantId?: string } = {},
): Promise<ScheduleReport> {
  const report: ScheduleReport = { dispatched: 0, busy: 0, replanned: 0, failed: 0 };
  const due = await deps.db.kernel((tx) => listDue(tx, { tenantId: tenantId ?? null, limit: batchSize }));
  for (const key of due) {
    const what = await scheduleOne(deps, key).catch((error: unknown): keyof ScheduleReport => {
      // A source that cannot be scheduled must not hold up the others; the next run tries again.
      logger.error({ err: error, ...key }, 'a source of uploads could not be scheduled');
      return 'failed';
    });
    if (what !== null) report[what] += 1;
  }
  return report;
}

async function scheduleOne(deps: JobsDeps, key: SourceKey): Promise<keyof ScheduleReport | null> {
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
    const { now, lastTickAt, nextPullAt, plan: plannedFor } = planned;
    if (planned.plannedFor !== plannedFor) {
      await saveSchedule(tx, key, { nextPullAt: replannedTick(planned, now), lastTickAt, plannedFor });
      return 'replanned';
    }
    if (!planned.enabled || nextPullAt.getTime() > now.getTime()) return null;
    if (!hasRoom) {
      const later = new Date(now.getTime() + crowdedMs);
      await saveSchedule(tx, key, { nextPullAt: later, lastTickAt, plannedFor });
      return 'busy';
    }
    const next = nextTick({ ...planned, dueAt: nextPullAt }, now);
    await saveSchedule(tx, key, { nextPullAt: next, lastTickAt: now, plannedFor });
    try {
      await dispatchPullIn(deps, tx, planned, { createdBy: 'schedule', userId: null });
      return 'dispatched';
    } catch (error) {
      if (isSluiceError(error) && ['job_already_active', 'cleanup_in_progress'].includes(error.code))
        return 'busy';
      throw error;
    }
  });
}
