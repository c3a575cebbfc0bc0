import type { DayRange } from '../types.ts';

const dayMs = 86_400_000;

/** The days that a pull asks for: up to yesterday in the time zone of the account. Today is not over yet. */
export function restatedDays(
  { restateDays, timeZone }: { restateDays: number; timeZone: string },
  now: Date,
): DayRange {
  const today = dayIn(timeZone, now);
  return { from: shifted(today, -restateDays), to: shifted(today, -1) };
}

/** The range in pieces of at most `days`, oldest first: platforms limit how many days one request may ask for. */
export function piecesOf({ from, to }: DayRange, days: number): DayRange[] {
  const pieces: DayRange[] = [];
  for (let start = from; start <= to; start = shifted(start, days)) {
    const end = shifted(start, days - 1);
    pieces.push({ from: start, to: end < to ? end : to });
  }
  return pieces;
}

export function daysIn({ from, to }: DayRange): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / dayMs) + 1;
}

/** `2026-03-01`, as calendars of that place show it. */
export function dayIn(timeZone: string, now: Date): string {
  return new Intl.DateTimeFormat('en-CA', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  }).format(now);
}

function shifted(day: string, days: number): string {
  return new Date(Date.parse(day) + days * dayMs).toISOString().slice(0, 10);
}
