import { Cron } from 'croner';

/** Ticks of a cron expression, in a time zone. */
export interface CronSchedule {
  cron: string;
  timeZone: string;
}

const checkedTicks = 100;

/** What is wrong with it, in words; null when it is fine. */
export function cronProblem({ cron, timeZone }: CronSchedule): string | null {
  if (!isTimeZone(timeZone)) return `${timeZone} is not a time zone; use a name such as Europe/Berlin or UTC`;
  try {
    if (parsed({ cron, timeZone }).nextRun() !== null) return null;
    return 'the expression has no date in the future';
  } catch {
    return 'the expression must have five fields: minute, hour, day of month, month, day of week';
  }
}

export function isTimeZone(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** The first tick after `after`. */
export function nextCronTick(schedule: CronSchedule, after: Date): Date {
  const tick = parsed(schedule).nextRun(after);
  // An expression such as 29 February in a year that never comes was refused when it was saved.
  return tick ?? new Date(after.getTime() + 365 * 86_400_000);
}

function nextCronTicks(schedule: CronSchedule, { after, count }: { after: Date; count: number }): Date[] {
  return parsed(schedule).nextRuns(count, after);
}

/** The shortest time between two ticks, apart from clock changes: those would make every day 23 hours long. */
export function leastGapMs({ cron }: Pick<CronSchedule, 'cron'>, from: Date): number {
  const ticks = nextCronTicks({ cron, timeZone: 'UTC' }, { after: from, count: checkedTicks });
  const gaps = ticks.slice(1).map((tick, at) => tick.getTime() - (ticks[at]?.getTime() ?? 0));
  return Math.min(...gaps, Number.POSITIVE_INFINITY);
}

function parsed({ cron, timeZone }: CronSchedule): Cron {
  return new Cron(cron, { timezone: timeZone, paused: true, mode: '5-part' });
}
