import { Cron } from 'croner';
import type { Schedule } from '../types.ts';

const longestEveryMs = 366 * 24 * 3_600_000;

/** What is wrong with it, to follow the words "the schedule …"; null when it is fine or absent. */
export function findScheduleProblem(schedule: Schedule<unknown> | undefined): string | null {
  if (schedule === undefined) return null;
  const { every, cron, timeZone } = schedule;
  if ((every === undefined) === (cron === undefined)) return 'needs either every or cron';
  if (every !== undefined) {
    const isFine = Number.isInteger(every) && every >= 1_000 && every <= longestEveryMs;
    return isFine ? null : 'has an `every` that is no whole number of milliseconds from 1000 to a year';
  }
  try {
    nextTick(schedule, new Date(0));
    return null;
  } catch {
    const where = timeZone === undefined ? '' : ` in the time zone ${timeZone}`;
    return `has the cron pattern ${cron}${where}, which cannot be read`;
  }
}

/** The first moment after `after`; null when there is none. */
export function nextTick(
  { every, cron = '', timeZone = 'UTC' }: Schedule<unknown>,
  after: Date,
): Date | null {
  if (every !== undefined) return new Date((Math.floor(after.getTime() / every) + 1) * every);
  return new Cron(cron, { timezone: timeZone, paused: true }).nextRun(after);
}

/** Changes when the schedule does. */
export function fingerprintOf({ every, cron, timeZone }: Schedule<unknown>): string {
  return every === undefined ? `${cron} ${timeZone ?? 'UTC'}` : `every ${every}`;
}
