import type { NumberKind } from './styles.ts';

const dayMs = 86_400_000;
/** The 31st of December 9999 is the last day that a spreadsheet knows. */
const endMs = Date.UTC(10_000, 0, 1);

/**
 * A serial number as a date, a time or both, in the words of ISO 8601 and without a time zone, which spreadsheets
 * do not know. Null where it is none: before the first day, behind the last, or the 29th of February 1900, which
 * there was only in Lotus 1-2-3 and is in every spreadsheet since.
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

/** Day 0 of the calendar that this day is counted in. */
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
