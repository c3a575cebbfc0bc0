/** Longer addresses come from calendars, nested filters and links that append to themselves. */
const limits = { urlLength: 2_000, pathSegments: 24, sameSegment: 4, parameters: 12 };

/**
 * Returns the one spelling of a page's address, or null if a crawl does not follow it. Two links to one page must not
 * become two documents, so fragments and tracking parameters are dropped and the parameters are sorted.
 */
export function normalisePageUrl(href: string, base?: string | URL): URL | null {
  if (href.length > limits.urlLength * 4) return null;
  const url = parseUrl(href, base);
  if (url === null || !isWeb(url)) return null;
  // Each assignment parses the whole address again, and pages have thousands of links.
  const { hash, hostname, pathname, search, href: written } = url;
  if (hash !== '') url.hash = '';
  if (hostname.endsWith('.')) url.hostname = hostname.replace(/\.+$/, '');
  const path = normaliseEncoding(pathname.replace(sessionInPath, ''));
  if (path !== pathname) url.pathname = path;
  const query = normaliseQuery(search);
  // A question mark with nothing after it is in the address, but not in `search`.
  if (query !== search.slice(1) || (query === '' && written.includes('?')))
    url.search = query === '' ? '' : `?${query}`;
  return url.href.length > limits.urlLength || isTrap(url) ? null : url;
}

/** As written, without the fragment: a server may redirect by a parameter that `normalisePageUrl` drops. */
export function redirectTarget(location: string, base: string): URL | null {
  const url = parseUrl(location, base);
  if (url === null || !isWeb(url)) return null;
  url.hash = '';
  return url.href.length > limits.urlLength ? null : url;
}

/** Extensions of files that are never documents, so they are not requested. */
const otherThings = new RegExp(
  `\\.(${[
    'png|jpe?g|gif|webp|avif|svg|ico|bmp|tiff?|heic|psd|mp[34]|m4[av]|mov|avi|mkv|webm|og[gv]|wav|flac|wmv',
    'css|m?js|map|json|wasm|woff2?|ttf|otf|eot|zip|gz|tgz|bz2|xz|7z|rar|tar|dmg|pkg|exe|msi|deb|rpm|apk|iso|jar',
    'xlsx?|pptx?|csv|sql|db|bin|torrent|ics|epub|mobi',
  ].join('|')})$`,
  'i',
);

export function looksLikeDocument(url: URL): boolean {
  return !otherThings.test(url.pathname);
}

/**
 * Decodes unreserved characters and writes escapes in capitals, so that spellings can be compared (RFC 3986, 6.2.2).
 */
export function normaliseEncoding(text: string): string {
  if (!text.includes('%')) return text;
  return text.replace(/%([0-9a-f]{2})/gi, (encoded, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return /[a-z0-9._~-]/i.test(character) ? character : encoded.toUpperCase();
  });
}

const sessionInPath = /;(jsessionid|phpsessid|sid)=[^/;]*/gi;
const tracking = new RegExp(
  `^(${[
    'utm_.*|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|msclkid|yclid|twclid|ttclid|li_fat_id|igshid|mc_[ce]id|_ga|_gl',
    '_hs(enc|mi)|mkt_tok|phpsessid|jsessionid|oly_(anon|enc)_id|vero_id|s_cid',
  ].join('|')})$`,
  'i',
);

function normaliseQuery(search: string): string {
  if (search === '') return '';
  const kept = search
    .slice(1)
    .split('&')
    .filter((part) => part !== '' && !tracking.test(part.split('=', 1)[0] ?? ''))
    .map(normaliseEncoding);
  return kept.sort().join('&');
}

/** Paths that repeat a segment come from relative links without their base, and never end. */
function isTrap(url: URL): boolean {
  const { pathname, search } = url;
  const segments = pathname.split('/').filter((segment) => segment !== '');
  if (segments.length > limits.pathSegments || search.split('&').length > limits.parameters) return true;
  if (segments.length <= limits.sameSegment) return false;
  const counts = new Map<string, number>();
  for (const segment of segments) {
    const count = (counts.get(segment) ?? 0) + 1;
    if (count > limits.sameSegment) return true;
    counts.set(segment, count);
  }
  return false;
}

function parseUrl(href: string, base: string | URL | undefined): URL | null {
  try {
    return new URL(href.trim(), base);
  } catch {
    // Links often contain text that is not an address.
    return null;
  }
}

function isWeb(url: URL): boolean {
  return /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}
