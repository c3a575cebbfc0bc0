/** A cadence in words: "every 6 h". */
export function everyHours(hours: number): string {
  if (hours < 1) return `every ${Math.round(hours * 60)} min`;
  return hours % 24 === 0 && hours >= 48 ? `every ${hours / 24} days` : `every ${hours} h`;
}

/** The schedule of a connector in words: its expression, or its cadence. */
export function scheduleWords(schedule: {
  cron: string | null;
  time_zone: string;
  cadence_hours: number;
}): string {
  if (schedule.cron === null) return everyHours(schedule.cadence_hours);
  return `${schedule.cron} (${schedule.time_zone})`;
}
