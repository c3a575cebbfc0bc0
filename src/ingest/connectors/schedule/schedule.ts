import type { JobsDeps } from '../../../kernel/jobs/dispatch/service.ts';
import { isSluiceError } from '../../../lib/errors.ts';
import type { Logger } from '../../../lib/log.ts';
import { dispatchSyncIn } from '../sync/dispatch.ts';
import { type Connector, type ConnectorKey, planCadences } from '../types.ts';
import { nextCronTick } from './cron.ts';
import { listDue, listDueOf, lockPlanned, type Planned, saveSchedule } from './store.ts';

const hourMs = 3_600_000;
/** A share of the cadence, at most half an hour: it keeps a thousand connectors from syncing in one minute. */
const jitterShare = 0.1;
const maxJitterMs = hourMs / 2;
const batchSize = 500;
/** A tenant whose queue is full gets another try a little later. */
const crowdedMs = 60_000;

type Cadenced = Pick<Connector, 'cadenceHours' | 'plan'>;
type Scheduled = Cadenced & Pick<Connector, 'cron' | 'timeZone' | 'jitter'>;

/** With a time of day people expect it then; a minute is enough to keep 500 connectors apart. */
const maxCronJitterMs = 60_000;
/** A day is 23 hours long when clocks change, and a tick comes a little after its time. */
const toleranceMs = 70 * 60_000;

/** The configured cadence, but never more often than the plan allows: a downgrade widens it. */
export function effectiveCadenceHours({ cadenceHours, plan }: Cadenced): number {
  const { minimumHours } = planCadences[plan];
  return Math.max(cadenceHours ?? minimumHours, minimumHours);
}

function cadenceMs(connector: Cadenced): number {
  return effectiveCadenceHours(connector) * hourMs;
}

/** How far this connector stays behind the exact cadence; constant for one connector. */
export function jitterMs(connector: Cadenced & { jitter: number }): number {
  return connector.jitter * Math.min(cadenceMs(connector) * jitterShare, maxJitterMs);
}

/** How far behind its ticks any connector with this schedule may start. */
export function mostJitterMs(connector: Cadenced & Pick<Connector, 'cron'>): number {
  return connector.cron === null ? jitterMs({ ...connector, jitter: 1 }) : maxCronJitterMs;
}

/** The first tick after `now`, however many were missed. */
export function nextTick(connector: Scheduled & { nextSyncAt: Date; lastTickAt: Date }, now: Date): Date {
  if (connector.cron !== null) return cronTick({ ...connector, lastTickAt: now }, now);
  const everyMs = cadenceMs(connector);
  const lateMs = Math.max(0, now.getTime() - connector.nextSyncAt.getTime());
  const ticks = Math.floor(lateMs / everyMs) + 1;
  return new Date(connector.nextSyncAt.getTime() + ticks * everyMs);
}

/** The tick under a changed cadence: counted from the last one, and never in the past. */
export function replannedTick(connector: Scheduled & { lastTickAt: Date }, now: Date): Date {
  if (connector.cron !== null) return cronTick(connector, now);
  const dueMs = connector.lastTickAt.getTime() + cadenceMs(connector);
  return new Date(Math.max(dueMs, now.getTime()) + jitterMs(connector));
}

/** The first tick of its expression that the plan allows, a little later for each connector. */
function cronTick(
  { cron, timeZone, plan, jitter, lastTickAt }: Scheduled & { lastTickAt: Date },
  now: Date,
): Date {
  const leastMs = planCadences[plan].minimumHours * hourMs;
  const allowedMs = lastTickAt.getTime() + leastMs - Math.min(toleranceMs, leastMs / 2);
  const after = new Date(Math.max(now.getTime(), allowedMs));
  return new Date(nextCronTick({ cron: cron ?? '', timeZone }, after).getTime() + jitter * maxCronJitterMs);
}

/** The next syncs of such a schedule, from now on, for whoever is about to save it. */
export function previewTicks(connector: Scheduled, { now, count }: { now: Date; count: number }): Date[] {
  const ticks: Date[] = [];
  // A connector that was never synced may start at its first tick.
  let last = new Date(connector.cron === null ? now : 0);
  let from = now;
  while (ticks.length < count) {
    const tick = replannedTick({ ...connector, jitter: 0, lastTickAt: last }, from);
    ticks.push(tick);
    last = tick;
    from = tick;
  }
  return ticks;
}

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
    await saveSchedule(tx, key, { nextSyncAt: nextTick(planned, now), lastTickAt: now, plannedFor });
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
