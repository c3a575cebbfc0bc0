/** A path of this server, or `/`: a link must not be able to lead elsewhere after the login. */
export function ownPath(to: string | undefined): string {
  if (to === undefined || !to.startsWith('/')) return '/';
  const base = 'http://own.invalid';
  try {
    const url = new URL(to, base);
    // Two slashes at the beginning would be read as another server.
    const isOwn = url.origin === base && !url.pathname.startsWith('//');
    return isOwn ? `${url.pathname}${url.search}${url.hash}` : '/';
  } catch {
    return '/';
  }
}
