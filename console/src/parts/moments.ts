const units = [
  { ms: 86_400_000, name: 'd' },
  { ms: 3_600_000, name: 'h' },
  { ms: 60_000, name: 'min' },
  { ms: 1_000, name: 's' },
] as const;

/** "0.4 s", "12 s", "3 min 20 s", "2 h 5 min", "3 d 4 h": two units at most, none of them empty. */
export function durationText(ms: number): string {
  const positive = Math.max(0, ms);
  if (positive < 1_000) return positive < 50 ? '0 s' : `${(positive / 1_000).toFixed(1)} s`;
  const total = Math.round(positive / 1_000) * 1_000;
  const index = units.findIndex((unit) => total >= unit.ms);
  const [large, small] = [units[index], units[index + 1]];
  if (large === undefined) return '0 s';
  const wholes = Math.floor(total / large.ms);
  const rest = small === undefined ? 0 : Math.floor((total - wholes * large.ms) / small.ms);
  // Seconds beside hours would be noise, and so are minutes beside many days.
  const showsRest = small !== undefined && rest > 0 && !(large.name === 'd' && wholes >= 10);
  return showsRest ? `${wholes} ${large.name} ${rest} ${small.name}` : `${wholes} ${large.name}`;
}

/** One unit only, for "3 min ago". */
function roughText(ms: number): string {
  const unit = units.find((candidate) => ms >= candidate.ms);
  return unit === undefined ? '0 s' : `${Math.floor(ms / unit.ms)} ${unit.name}`;
}

/** "just now", "3 min ago", "in 2 h". */
export function agoText(atMs: number, nowMs: number): string {
  const passed = nowMs - atMs;
  if (Math.abs(passed) < 5_000) return passed >= 0 ? 'just now' : 'in a moment';
  return passed > 0 ? `${roughText(passed)} ago` : `in ${roughText(-passed)}`;
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const clockWithSeconds = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const exact = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' });

/** "14:05" today, "12 Mar 14:05" on other days. */
export function clockText(at: Date, now: Date): string {
  return at.toDateString() === now.toDateString()
    ? clock.format(at)
    : `${day.format(at)} ${clock.format(at)}`;
}

export function secondsText(at: Date): string {
  return clockWithSeconds.format(at);
}

/** With the time zone, and as the API has it, for tickets. */
export function exactText(at: Date): string {
  return `${exact.format(at)} · ${at.toISOString()}`;
}
