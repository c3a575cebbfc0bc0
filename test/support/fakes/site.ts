import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { serveSite } from './local-site.ts';

/** A page of a web site that tests crawl. Without anything it is an article with a few sentences and no links. */
export interface SitePage {
  title?: string;
  text?: string;
  /** Where the article leads, as written into href. */
  links?: string[];
  /** Further tags for the head. */
  head?: string;
  /** Instead of an article. */
  body?: string | Buffer;
  type?: string;
  status?: number;
  headers?: Record<string, string>;
  /** Returns 304 to a client that already has it. */
  etag?: string;
  lastModified?: string;
  redirect?: string;
  /** The first requests get this instead. */
  trouble?: { times: number; status: number; headers?: Record<string, string> };
  /** Takes the request and never responds. */
  hangs?: boolean;
  /** Sends the body and never ends it. */
  isEndless?: boolean;
  /** A slow page responds after this time. */
  delayMs?: number;
  /** Resolves when this has ended. */
  waitsFor?: Promise<unknown>;
}

export interface WebSite {
  /** Without a slash at the end. */
  url: string;
  /** Pages by path and query; may be changed while they are served. */
  pages: Map<string, SitePage>;
  /** Paths and queries, in the order in which they were asked for. */
  asked: string[];
  requests: { path: string; headers: IncomingHttpHeaders; status: number }[];
  /** Requests that are under way, and the most that were at the same time. */
  inFlight: number;
  mostInFlight: number;
  countOf(path: string): number;
  forgetRequests(): void;
}

/** A real web site on a port of this machine, until the test ends. What is not among its pages is 404. */
export async function serveWebSite(
  pages: Record<string, SitePage> | ((url: string) => Record<string, SitePage>),
  host = '127.0.0.1',
): Promise<WebSite> {
  const site: WebSite = {
    url: '',
    pages: new Map(),
    asked: [],
    requests: [],
    inFlight: 0,
    mostInFlight: 0,
    countOf: (path) => site.asked.filter((asked) => asked === path).length,
    forgetRequests() {
      site.asked = [];
      site.requests = [];
      site.mostInFlight = 0;
    },
  };
  const { port } = await serveSite(host, (request, response) => {
    site.inFlight += 1;
    site.mostInFlight = Math.max(site.mostInFlight, site.inFlight);
    response.once('close', () => {
      site.inFlight -= 1;
    });
    void answer(site, request, response);
  });
  site.url = `http://${host}:${port}`;
  site.pages = new Map(Object.entries(typeof pages === 'function' ? pages(site.url) : pages));
  return site;
}

/** Long enough for whoever looks for the main text of a page. */
function articleOf({ title = 'A page', text, links = [], head = '' }: SitePage): string {
  const sentences =
    text ?? `This is what ${title} says. It says so in a few sentences, as articles do. That is all.`;
  const anchors = links.map((href) => `<li><a href="${href.replaceAll('&', '&amp;')}">${href}</a></li>`);
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title>${head}</head><body>
<main><article><h1>${title}</h1><p>${sentences}</p></article></main>
<nav><ul>${anchors.join('')}</ul></nav></body></html>`;
}

export function sitemapOf(urls: string[]): SitePage {
  const entries = urls.map((url) => `<url><loc>${url}</loc><lastmod>2026-01-02</lastmod></url>`);
  const body = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${entries.join('\n')}</urlset>`;
  return { type: 'application/xml', body };
}

export function robotsOf(...lines: string[]): SitePage {
  return { type: 'text/plain', body: lines.join('\n') };
}

/**
 * The manual of a small machine: robots.txt that closes one folder, a sitemap with a page that nothing links to,
 * redirects for good, in a circle and to nowhere, a page that does not want to be indexed, a text file and a picture.
 */
export function manualPages(url: string): Record<string, SitePage> {
  return {
    '/robots.txt': robotsOf('User-agent: *', 'Disallow: /private/', `Sitemap: ${url}/sitemap.xml`),
    '/sitemap.xml': sitemapOf([`${url}/`, `${url}/pump`, `${url}/spare-parts`]),
    '/': {
      title: 'Manual of the sluice gate',
      links: [
        '/pump',
        '/motor?utm_source=home',
        '/private/keys',
        '/old-motor',
        '/circle',
        '/notes.txt',
        '/missing',
      ],
      etag: '"home-1"',
    },
    '/pump': { title: 'Pump', text: pumpText, links: ['/', 'valve', '/photo.png'], etag: '"pump-1"' },
    '/motor': { title: 'Motor', text: motorText, links: ['/pump#oil', '/draft'], lastModified: someDay },
    '/valve': { title: 'Valve', text: valveText, links: ['/pump'], etag: '"valve-1"' },
    '/spare-parts': { title: 'Spare parts', text: partsText, etag: '"parts-1"' },
    '/draft': { title: 'Draft', head: '<meta name="robots" content="noindex">' },
    '/old-motor': { status: 301, redirect: '/motor' },
    '/circle': { status: 302, redirect: '/circle-2' },
    '/circle-2': { status: 302, redirect: '/circle' },
    '/notes.txt': {
      type: 'text/plain',
      body: 'Notes of the mechanic: grease the hinges of the gate every spring.',
    },
    '/private/keys': { title: 'Where the keys are' },
  };
}

const someDay = 'Tue, 06 Jan 2026 08:00:00 GMT';
const pumpText =
  'The pump lifts water over the gate. Check its oil once a month, and never let it run dry for more than a minute.';
const motorText =
  'The motor turns the spindle of the gate. It needs three phases and stops by itself when the gate is down.';
const valveText =
  'The valve lets the chamber run empty slowly. Open it by hand when there is no electricity, ten turns to the left.';
const partsText =
  'Seals, bolts and filters are in the store room on the upper floor. Order new ones when fewer than five are left.';

async function answer(site: WebSite, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url ?? '/';
  site.asked.push(path);
  const noted = { path, headers: request.headers, status: 0 };
  site.requests.push(noted);
  const page = site.pages.get(path) ?? { status: 404, type: 'text/plain', body: 'no such page' };
  if (page.hangs) return;
  await page.waitsFor;
  if (page.delayMs !== undefined) await sleep(page.delayMs);
  const reply = replyOf(page, request.headers);
  noted.status = reply.status;
  response.writeHead(reply.status, reply.headers);
  if (page.isEndless) response.write(reply.body ?? '');
  else response.end(reply.body);
}

function replyOf(page: SitePage, asked: IncomingHttpHeaders) {
  const { trouble, etag, lastModified, redirect } = page;
  if (trouble !== undefined && trouble.times > 0) {
    trouble.times -= 1;
    return { status: trouble.status, headers: trouble.headers, body: 'in trouble' };
  }
  const headers = {
    'content-type': page.type ?? 'text/html; charset=utf-8',
    ...(etag === undefined ? {} : { etag }),
    ...(lastModified === undefined ? {} : { 'last-modified': lastModified }),
    ...(redirect === undefined ? {} : { location: redirect }),
    ...page.headers,
  };
  const isSame = etag === undefined ? isSince(asked, lastModified) : asked['if-none-match'] === etag;
  if (isSame) return { status: 304, headers, body: undefined };
  return {
    status: page.status ?? (redirect === undefined ? 200 : 302),
    headers,
    body: page.body ?? articleOf(page),
  };
}

function isSince(asked: IncomingHttpHeaders, lastModified: string | undefined): boolean {
  return lastModified !== undefined && asked['if-modified-since'] === lastModified;
}
