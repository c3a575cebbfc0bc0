import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import {
  robotsOf,
  type SitePage,
  serveWebSite,
  sitemapOf,
  type WebSite,
} from '../../../test/support/fakes/site.ts';
import { crawlSite, knownFrom, listFrom, remember } from '../../../test/support/worlds/crawl-runs.ts';
import type { KnownPage } from './types.ts';

const hub: Record<string, SitePage> = {
  '/': { links: ['/blog', '/about'], etag: '"home"' },
  '/blog': { links: ['/blog/1', '/blog/2'], etag: '"blog"' },
  '/about': { lastModified: 'Tue, 06 Jan 2026 08:00:00 GMT' },
  '/blog/1': { etag: '"1"' },
  '/blog/2': { etag: '"2"' },
};

/** The answers to pages, by path. */
const answers = ({ requests }: WebSite) =>
  Object.fromEntries(
    requests.filter(({ path }) => !path.endsWith('.txt')).map(({ path, status }) => [path, status]),
  );

describe('a site that was crawled before', () => {
  test('an unchanged site gets one request per page, and sends no content', async () => {
    const site = await serveWebSite(hub);
    const stored = remember(await crawlSite(site));
    site.forgetRequests();
    const { pages, end } = await crawlSite(site, listFrom(stored));
    expect(pages.sort()).toEqual(
      Object.keys(hub)
        .sort()
        .map((path) => `unchanged ${path}`),
    );
    expect(answers(site)).toEqual(Object.fromEntries(Object.keys(hub).map((path) => [path, 304])));
    expect(site.requests).toHaveLength(6);
    expect(end?.isComplete).toBe(true);
  });

  test('shows a new page behind an unchanged one', async () => {
    const site = await serveWebSite(hub);
    const stored = remember(await crawlSite(site));
    site.pages.set('/blog', { links: ['/blog/1', '/blog/2', '/blog/3'], etag: '"blog-2"' });
    site.pages.set('/blog/3', {});
    const { pages } = await crawlSite(site, listFrom(stored));
    expect(pages).toContain('unchanged /');
    expect(pages).toEqual(expect.arrayContaining(['page /blog', 'page /blog/3']));
  });

  test('is asked with conditions even though a page failed last time, and that page is asked for again', async () => {
    const site = await serveWebSite({ ...hub, '/blog/2': { etag: '"2"', status: 503 } });
    const first = await crawlSite(site);
    const stored = remember(first);
    expect(first.end).toMatchObject({ isComplete: false });
    expect(first.progress?.missed).toEqual([{ url: `${site.url}/blog/2`, depth: 2 }]);
    site.pages.set('/blog/2', { etag: '"2"' });
    site.forgetRequests();
    const { missed } = first.progress ?? {};
    const second = await crawlSite(site, { ...listFrom(stored), wasComplete: false, missed });
    expect(answers(site)).toEqual({ '/': 304, '/blog': 304, '/about': 304, '/blog/1': 304, '/blog/2': 200 });
    expect(second.pages).toContain('page /blog/2');
    expect(second.end?.isComplete).toBe(true);
  });

  test('is read as a whole when the previous crawl may have missed pages that nobody knows of', async () => {
    const site = await serveWebSite(hub);
    const first = await crawlSite(site, { bounds: { maxPages: 3 } });
    expect(first.end?.isComplete).toBe(false);
    expect(first.progress?.missed).toBeNull();
  });

  test('keeps the depth of a page that is not found again', async () => {
    const site = await serveWebSite(hub);
    const bounds = { maxDepth: 2 };
    const stored = remember(await crawlSite(site, { bounds }));
    site.pages.set('/blog/1', { links: ['/too-deep'], etag: '"1b"' });
    site.pages.set('/too-deep', {});
    const { pages } = await crawlSite(site, { bounds, ...listFrom(stored) });
    expect(pages).toContain('page /blog/1');
    expect(site.asked).not.toContain('/too-deep');
  });

  test('shows what is behind an unchanged page that used to be too deep for its links', async () => {
    const site = await serveWebSite({
      ...hub,
      '/blog/1': { links: ['/behind'], etag: '"1"' },
      '/behind': {},
    });
    const bounds = { maxDepth: 2 };
    const stored = remember(await crawlSite(site, { bounds }));
    expect(site.asked).not.toContain('/behind');
    site.pages.set('/', { links: ['/blog/1'] });
    const { pages } = await crawlSite(site, { bounds, ...listFrom(stored) });
    expect(pages).toEqual(expect.arrayContaining(['page /blog/1', 'page /behind']));
  });

  test('with many pages is checked in pages of the known documents', async () => {
    const site = await serveWebSite({ '/': {}, '/z': {} });
    const stored = new Map<string, KnownPage>([[`${site.url}/z`, { contentHash: 'x', memo: null }]]);
    for (let at = 0; at < 1_100; at += 1) {
      stored.set(`http://127.0.0.1:1/${at}`, { contentHash: 'x', memo: null });
    }
    const { listKnown, ...given } = listFrom(stored);
    const asked: (string | null)[] = [];
    const { pages } = await crawlSite(site, {
      ...given,
      listKnown: async (page) => {
        asked.push(page.after);
        if (asked.length > 10) throw new Error('It goes on for ever');
        return (await listKnown?.(page)) ?? [];
      },
    });
    expect(asked).toHaveLength(3);
    expect(pages).toEqual(['page /', 'page /z']);
  });

  test('is asked for each page that is no longer linked, to learn whether it is gone', async () => {
    const site = await serveWebSite(hub);
    const stored = remember(await crawlSite(site));
    site.pages.set('/', { text: 'We are rebuilding this site.' });
    site.pages.delete('/blog/1');
    site.pages.set('/blog/2', { status: 503 });
    const { pages, end } = await crawlSite(site, listFrom(stored));
    expect(pages).toEqual([
      'page /',
      'unchanged /about',
      'unchanged /blog',
      'gone /blog/1',
      'failed /blog/2 page_unavailable',
    ]);
    expect(end?.isComplete).toBe(false);
  });

  test('is read in full if the last crawl may have missed something, except for its deepest pages', async () => {
    const site = await serveWebSite(hub);
    const bounds = { maxDepth: 2 };
    const stored = remember(await crawlSite(site, { bounds }));
    site.forgetRequests();
    for (const given of [knownFrom(stored), { ...listFrom(stored), wasComplete: false }]) {
      const { pages } = await crawlSite(site, { bounds, ...given });
      expect(pages).toEqual([
        'page /',
        'page /blog',
        'page /about',
        'unchanged /blog/1',
        'unchanged /blog/2',
      ]);
    }
  });

  test('is read in full if other links may be followed now', async () => {
    const site = await serveWebSite({ '/robots.txt': robotsOf('User-agent: *', 'Disallow: /blog'), ...hub });
    const stored = remember(await crawlSite(site));
    expect([...stored]).toHaveLength(2);
    site.pages.delete('/robots.txt');
    expect((await crawlSite(site, listFrom(stored))).pages).toContain('page /blog/2');

    const few = remember(await crawlSite(site, { bounds: { maxPages: 2 } }));
    const more = await crawlSite(site, { ...listFrom(few), wasComplete: false });
    expect(more.pages).toContain('page /about');
    const flat = remember(await crawlSite(site, { bounds: { maxDepth: 1 } }));
    expect((await crawlSite(site, listFrom(flat))).pages).toContain('page /blog/1');
  });

  test('gets no requests for pages that are forbidden now or outside of the paths', async () => {
    const site = await serveWebSite(hub);
    const stored = remember(await crawlSite(site));
    stored.set('https://elsewhere.invalid/', { contentHash: 'x', memo: null });
    site.pages.set('/', {});
    site.pages.set('/robots.txt', robotsOf('User-agent: *', 'Disallow: /blog/2'));
    site.forgetRequests();
    const scope = { include: [], exclude: ['/about'] };
    const { pages, end } = await crawlSite(site, { scope, ...listFrom(stored) });
    expect(pages).toEqual(['page /', 'skipped /blog/2 robots', 'page /blog', 'page /blog/1']);
    expect(end?.isComplete).toBe(true);
  });

  test('can stop while it checks known pages', async () => {
    const site = await serveWebSite(hub);
    const stored = remember(await crawlSite(site));
    const whole = await crawlSite(site, listFrom(stored));
    for (let steps = 1; steps < whole.steps.length; steps += 1) {
      const first = await crawlSite(site, listFrom(stored), steps);
      const { frontier, progress } = first;
      const second = await crawlSite(site, { frontier, progress, ...listFrom(stored) });
      expect([...first.pages, ...second.pages], `left after ${steps}`).toEqual(whole.pages);
    }
  });

  test('a site that returns 304 to an unconditional request fails', async () => {
    const site = await serveWebSite({ '/': { links: ['/a'] }, '/a': { status: 304 } });
    expect((await crawlSite(site)).pages).toEqual(['page /', 'failed /a page_refused']);
  });
});

describe('the sitemap of a site', () => {
  const useSitemap = true;

  test('leads to pages that nothing links to, after the links of the start', async () => {
    const site = await serveWebSite((url) => ({
      '/': { links: ['/a'] },
      '/a': {},
      '/sitemap.xml': sitemapOf([
        `${url}/`,
        `${url}/b?utm_source=map`,
        'https://elsewhere.invalid/',
        `${url}/c.png`,
      ]),
      '/b': {},
    }));
    const { pages, end } = await crawlSite(site, { useSitemap });
    expect(pages).toEqual(['page /', 'page /a', 'page /b']);
    expect(end?.isComplete).toBe(true);
    expect((await crawlSite(site)).pages).toEqual(['page /', 'page /a']);
  });

  test('is the one named in robots.txt, with the sitemaps that it lists, compressed or not, each once', async () => {
    const index = (...urls: string[]) =>
      `<sitemapindex>${urls.map((url) => `<sitemap><loc>${url}</loc></sitemap>`).join('')}</sitemapindex>`;
    const site = await serveWebSite((url) => ({
      '/robots.txt': robotsOf(`Sitemap: ${url}/maps.xml`, 'Sitemap: https://elsewhere.invalid/maps.xml'),
      '/maps.xml': { type: 'text/xml', body: index(`${url}/maps.xml`, `${url}/1.xml.gz`, `${url}/2.xml`) },
      '/1.xml.gz': { type: 'application/gzip', body: gzipSync(String(sitemapOf([`${url}/a`]).body)) },
      '/2.xml': sitemapOf([`${url}/b`]),
      '/': {},
      '/a': {},
      '/b': {},
    }));
    expect((await crawlSite(site, { useSitemap })).pages).toEqual(['page /', 'page /a', 'page /b']);
    expect(site.countOf('/maps.xml')).toBe(1);
    expect(site.asked).not.toContain('/sitemap.xml');
  });

  test('an unreadable sitemap makes the crawl incomplete, and a page that is not a sitemap does not', async () => {
    const site = await serveWebSite({ '/': {}, '/sitemap.xml': { status: 500 } });
    const failed = await crawlSite(site, { useSitemap });
    expect(failed.pages).toEqual(['page /']);
    expect(failed.end).toMatchObject({ isComplete: false, reason: expect.stringContaining('sitemap') });
    site.pages.set('/sitemap.xml', { type: 'text/xml', body: '<urlset><url><loc>' });
    expect((await crawlSite(site, { useSitemap })).end?.isComplete).toBe(false);
    site.pages.set('/sitemap.xml', { body: '<!doctype html><html><body>Welcome</body></html>' });
    expect((await crawlSite(site, { useSitemap })).end?.isComplete).toBe(true);
  });

  test('with more pages than allowed is read no further', async () => {
    const site = await serveWebSite((url) => ({
      '/': {},
      '/sitemap.xml': sitemapOf(Array.from({ length: 10_000 }, (_, at) => `${url}/page-${at}`)),
    }));
    const { frontier, end } = await crawlSite(site, { useSitemap, bounds: { maxPages: 20 } });
    expect(frontier).toHaveLength(20);
    expect(end?.isComplete).toBe(false);
  });
});

// The full size is for `npm run chaos`; the shape is the same.
const pageCount = process.env.SLUICE_CHAOS === 'full' ? 10_000 : 1_000;

/** Pages in tens below sections, every fiftieth failing at first, every seventh with a copy that names it. */
function largeSite(url: string): Record<string, SitePage> {
  const pages: Record<string, SitePage> = {};
  const listed: string[] = [];
  for (let n = 0; n < pageCount; n += 1) {
    const path = `/section-${Math.floor(n / 10)}/page-${n}`;
    const trouble = n % 50 === 0 ? { trouble: { times: 1, status: 503 } } : {};
    pages[path] = { etag: `"${n}"`, ...trouble };
    if (n % 7 === 0)
      pages[`/print/${n}`] = { head: `<link rel="canonical" href="${path}">`, etag: `"print-${n}"` };
    listed.push(`${url}${path}`, ...(n % 7 === 0 ? [`${url}/print/${n}`] : []));
  }
  pages['/sitemap.xml.gz'] = { body: gzipSync(sitemapOf(listed).body ?? ''), type: 'application/gzip' };
  pages['/robots.txt'] = { body: `User-agent: *\nSitemap: ${url}/sitemap.xml.gz`, type: 'text/plain' };
  pages['/'] = { etag: '"home"' };
  return pages;
}

test('a large site is read completely, politely, and the second time with 304 alone', {
  timeout: 600_000,
}, async () => {
  const site = await serveWebSite(largeSite);
  const options = { useSitemap: true, bounds: { maxPages: 50_000, delayMs: 0, requestsInFlight: 4 } };
  const first = await crawlSite(site, options);
  expect(first.end).toMatchObject({ isComplete: true });
  const stored = remember(first);
  expect(stored.size).toBe(pageCount + 1);
  expect(site.mostInFlight).toBeLessThanOrEqual(4);
  site.forgetRequests();
  const second = await crawlSite(site, { ...options, ...listFrom(stored) });
  expect(second.end).toMatchObject({ isComplete: true });
  const asked = site.requests.filter(({ path }) => path.startsWith('/section') || path === '/');
  expect(asked).toHaveLength(pageCount + 1);
  expect(asked.filter(({ status }) => status !== 304)).toEqual([]);
});
