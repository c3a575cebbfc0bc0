export const sessionCookie = 'sluice_session';

/** The value of one cookie of a Cookie header. The first one counts, as browsers send the most specific first. */
export function readCookie(header: string | undefined, name: string): string | null {
  for (const pair of (header ?? '').split(';')) {
    const separator = pair.indexOf('=');
    if (separator > 0 && pair.slice(0, separator).trim() === name) return pair.slice(separator + 1).trim();
  }
  return null;
}

/** Lax, because the login link is followed from a terminal or a mail; scripts never see the cookie. */
export function writeSessionCookie({
  value,
  maxAgeSeconds,
  secure,
}: {
  value: string;
  maxAgeSeconds: number;
  secure: boolean;
}): string {
  const attributes = [
    `${sessionCookie}=${value}`,
    'Path=/',
    `Max-Age=${maxAgeSeconds}`,
    'HttpOnly',
    'SameSite=Lax',
  ];
  if (secure) attributes.push('Secure');
  return attributes.join('; ');
}
