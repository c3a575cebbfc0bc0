/** Reads seconds or an HTTP date. A date counts from the response's own Date header, because clocks differ. */
export function parseRetryAfter(
  header: string | null | undefined,
  dateHeader?: string | null,
): number | undefined {
  if (header === null || header === undefined || header.trim() === '') return undefined;
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1000;
  const at = isHttpDate(header) ? Date.parse(header) : Number.NaN;
  if (Number.isNaN(at)) return undefined;
  const now = dateHeader ? Date.parse(dateHeader) : Date.now();
  return Math.max(0, at - (Number.isNaN(now) ? Date.now() : now));
}

/** All forms of an HTTP date begin with the weekday. Date.parse alone takes "-5" and "soon 7" for days in 2001. */
function isHttpDate(header: string): boolean {
  return /^\s*(Mon|Tues?|Wed(nes)?|Thu(rs)?|Fri|Sat(ur)?|Sun)(day)?\b/.test(header);
}
