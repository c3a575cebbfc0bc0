import type { NumberKind } from './styles.ts';

const dayMs = 86_400_000;
/** 31 December 9999 is the last day in a spreadsheet. */
const endMs = Date.UTC(10_000, 0, 1);

/**
 * A serial number as a date, a time or both, in ISO 8601 without a time zone, which spreadsheets do not have. Null if
 * there is no such date: before the first day, after the last, or 29 February 1900, a mistake of Lotus 1-2-3 that every
 * spreadsheet has copied.
 */
export function dateText(
  serial: number,
  { kind, is1904 }: { kind: Exclude<NumberKind, 'number'>; is1904: boolean },
): string | null {
  if (!(serial >= 0) || serial > 3_000_000) return null;
  const totalMs = Math.round(serial * dayMs);
  if (kind === 'elapsed') return timeText(totalMs);
  const day = Math.floor(totalMs / dayMs);
  const restMs = totalMs - day * dayMs;
  if (day === 0 && (kind === 'time' || (restMs > 0 && !is1904))) return timeText(restMs);
  const startMs = firstDayMs(day, is1904);
  if (startMs === null || startMs + totalMs >= endMs) return null;
  const date = new Date(startMs + day * dayMs).toISOString().slice(0, 10);
  return kind === 'date' && restMs === 0 ? date : `${date}T${timeText(restMs)}`;
}

/** Day 0 of the calendar for this day. */
function firstDayMs(day: number, is1904: boolean): number | null {
  if (is1904) return Date.UTC(1904, 0, 1);
  if (day === 0 || day === 60) return null;
  return day < 60 ? Date.UTC(1899, 11, 31) : Date.UTC(1899, 11, 30);
}

function timeText(ms: number): string {
  const pad = (value: number, digits = 2) => String(Math.floor(value)).padStart(digits, '0');
  const fraction = ms % 1_000 === 0 ? '' : `.${pad(ms % 1_000, 3)}`;
  return `${pad(ms / 3_600_000)}:${pad((ms / 60_000) % 60)}:${pad((ms / 1_000) % 60)}${fraction}`;
}
