/** A moment for a table: in local time, and no longer than necessary. */
export function shortTime(iso: string | null, now: Date = new Date()): string {
  if (iso === null) return '-';
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return '-';
  const day = `${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  if (at.getFullYear() !== now.getFullYear()) return `${at.getFullYear()}-${day}`;
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  const isToday = at.getMonth() === now.getMonth() && at.getDate() === now.getDate();
  return isToday ? `${time}:${two(at.getSeconds())}` : `${day} ${time}`;
}

/**
 * One line of at most so many characters. Names and messages come from outside: a control character in them could
 * take over the reader's terminal.
 */
export function shortText(text: string | null, max: number): string {
  if (text === null || text === '') return '-';
  const letters = [...text.slice(0, max * 4).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')];
  return letters.length <= max ? letters.join('') : `${letters.slice(0, max - 1).join('')}…`;
}

/** 950 ms, 1.2 s, 75 s. */
export function shortDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return `${ms < 10_000 ? (ms / 1000).toFixed(1) : Math.round(ms / 1000)} s`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
