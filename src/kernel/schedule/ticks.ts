import type { Plan } from '../tenancy/types.ts';
import { nextCronTick } from './cron.ts';

/** The shortest cadence of each plan, in hours. */
export const planCadences: Record<Plan, { minimumHours: number; isConfigurable: boolean }> = {
  free: { minimumHours: 24, isConfigurable: false },
  growth: { minimumHours: 6, isConfigurable: true },
  enterprise: { minimumHours: 1, isConfigurable: true },
};

interface Cadenced {
  /** Null: as often as the plan allows. */
  cadenceHours: number | null;
  plan: Plan;
}

/** By cadence, or by a cron expression; what belongs to a connector or to a source of uploads. */
export interface Scheduled extends Cadenced {
  /** Five fields, instead of a cadence. */
  cron: string | null;
  timeZone: string;
  /** Its place in the cadence, from 0 to 1. */
  jitter: number;
}

const hourMs = 3_600_000;
/** A share of the cadence, at most half an hour: it keeps a thousand schedules from coming in one minute. */
const jitterShare = 0.1;
const maxJitterMs = hourMs / 2;

/** With a time of day people expect it then; a minute is enough to keep 500 schedules apart. */
const maxCronJitterMs = 60_000;
/** A day is 23 hours long when clocks change, and a tick comes a little after its time. */
const toleranceMs = 70 * 60_000;

/** The configured cadence, but never more often than the plan allows: a downgrade widens it. */
export function effectiveCadenceHours({ cadenceHours, plan }: Cadenced): number {
  const { minimumHours } = planCadences[plan];
  return Math.max(cadenceHours ?? minimumHours, minimumHours);
}

function cadenceMs(schedule: Cadenced): number {
  return effectiveCadenceHours(schedule) * hourMs;
}

/** How far this schedule stays behind the exact cadence; constant for one schedule. */
export function jitterMs(schedule: Cadenced & { jitter: number }): number {
  return schedule.jitter * Math.min(cadenceMs(schedule) * jitterShare, maxJitterMs);
}

/** How far behind its ticks anything with this schedule may start. */
export function mostJitterMs(schedule: Cadenced & Pick<Scheduled, 'cron'>): number {
  return schedule.cron === null ? jitterMs({ ...schedule, jitter: 1 }) : maxCronJitterMs;
}

/** The first tick after `now`, however many were missed. */
export function nextTick(schedule: Scheduled & { dueAt: Date; lastTickAt: Date }, now: Date): Date {
  if (schedule.cron !== null) return cronTick({ ...schedule, lastTickAt: now }, now);
  const everyMs = cadenceMs(schedule);
  const lateMs = Math.max(0, now.getTime() - schedule.dueAt.getTime());
  const ticks = Math.floor(lateMs / everyMs) + 1;
  return new Date(schedule.dueAt.getTime() + ticks * everyMs);
}

/** The tick under a changed cadence: counted from the last one, and never in the past. */
export function replannedTick(schedule: Scheduled & { lastTickAt: Date }, now: Date): Date {
  if (schedule.cron !== null) return cronTick(schedule, now);
  const dueMs = schedule.lastTickAt.getTime() + cadenceMs(schedule);
  return new Date(Math.max(dueMs, now.getTime()) + jitterMs(schedule));
}

/** The first tick of its expression that the plan allows, a little later for each schedule. */
function cronTick(
  { cron, timeZone, plan, jitter, lastTickAt }: Scheduled & { lastTickAt: Date },
  now: Date,
): Date {
  const leastMs = planCadences[plan].minimumHours * hourMs;
  const allowedMs = lastTickAt.getTime() + leastMs - Math.min(toleranceMs, leastMs / 2);
  const after = new Date(Math.max(now.getTime(), allowedMs));
  return new Date(nextCronTick({ cron: cron ?? '', timeZone }, after).getTime() + jitter * maxCronJitterMs);
}

/** The next ticks of such a schedule, from now on, for whoever is about to save it. */
export function previewTicks(schedule: Scheduled, { now, count }: { now: Date; count: number }): Date[] {
  const ticks: Date[] = [];
  // What never ran may start at its first tick.
  let last = new Date(schedule.cron === null ? now : 0);
  let from = now;
  while (ticks.length < count) {
    const tick = replannedTick({ ...schedule, jitter: 0, lastTickAt: last }, from);
    ticks.push(tick);
    last = tick;
    from = tick;
  }
  return ticks;
}
