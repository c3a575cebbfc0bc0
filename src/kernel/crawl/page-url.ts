/** Longer ones are made by machines for machines: calendars, filters of filters, links that append to themselves. */
const limits = { urlLength: 2_000, pathSegments: 24, sameSegment: 4, parameters: 12 };

/**
 * The one spelling of a page's address, or null when it is none that a crawl follows. Two links to one page must not
 * become two documents: no fragment, no parameters that only say where a visitor came from, parameters in order.
 */
export function normalisePageUrl(href: string, base?: string | URL): URL | null {
  if (href.length > limits.urlLength * 4) return null;
  const url = parseUrl(href, base);
  if (url === null || !isWeb(url)) return null;
  // Every assignment parses the address anew, and pages have thousands of links.
  const { hash, hostname, pathname, search, href: written } = url;
  if (hash !== '') url.hash = '';
  if (hostname.endsWith('.')) url.hostname = hostname.replace(/\.+$/, '');
  const path = normaliseEncoding(pathname.replace(sessionInPath, ''));
  if (path !== pathname) url.pathname = path;
  const query = normaliseQuery(search);
  // A question mark with nothing behind it is not in `search`, but in the address.
  if (query !== search.slice(1) || (query === '' && written.includes('?')))
    url.search = query === '' ? '' : `?${query}`;
  return url.href.length > limits.urlLength || isTrap(url) ? null : url;
}

/** As it stands, but for the fragment: a server may send a visitor round a corner by a parameter that we leave out. */
export function redirectTarget(location: string, base: string): URL | null {
  const url = parseUrl(location, base);
  if (url === null || !isWeb(url)) return null;
  url.hash = '';
  return url.href.length > limits.urlLength ? null : url;
}

/** Endings of what is never a document, so that it need not be asked for. */
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

/** Unreserved characters plain, escapes in capitals: what robots.txt and links compare (RFC 3986, 6.2.2). */
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

/** Paths that repeat themselves come from relative links that miss their base, and never end. */
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
    // What is written in links is often no address at all.
    return null;
  }
}

function isWeb(url: URL): boolean {
  return /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}
