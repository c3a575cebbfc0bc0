export const sessionCookie = 'sluice_session';

/** The value of one cookie of a Cookie header. The first one counts, as browsers send the most specific first. */
export function readCookie(header: string | undefined, name: string): string | null {
  for (const pair of (header ?? '').split(';')) {
    const separator = pair.indexOf('=');
    if (separator > 0 && pair.slice(0, separator).trim() === name) return pair.slice(separator + 1).trim();
  }
  return null;
}

interface CookieContent {
  value: string;
  maxAgeSeconds: number;
  secure: boolean;
}

export function writeSessionCookie(content: CookieContent): string {
  return writeCookie({ ...content, name: sessionCookie, path: '/' });
}

/** Lax, because people follow links from a terminal, a mail or their login provider; scripts never see the cookie. */
export function writeCookie({
  name,
  path,
  value,
  maxAgeSeconds,
  secure,
}: CookieContent & { name: string; path: string }): string {
  const attributes = [
    `${name}=${value}`,
    `Path=${path}`,
    `Max-Age=${maxAgeSeconds}`,
    'HttpOnly',
    'SameSite=Lax',
  ];
  if (secure) attributes.push('Secure');
  return attributes.join('; ');
}
