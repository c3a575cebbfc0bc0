import { describe, expect, test } from 'vitest';
import { guardedFetch } from '../../../test/support/fakes/local-site.ts';
import { robotsOf, serveWebSite } from '../../../test/support/fakes/site.ts';
import { crawlSite, knownFrom, remember } from '../../../test/support/worlds/crawl-runs.ts';

describe('a redirect', () => {
  test('is followed on the host, and the page counts once, under its last address', async () => {
    const site = await serveWebSite({
      '/': { links: ['/old', '/older', '/new?utm_source=x', '/same'] },
      '/older': { status: 301, redirect: '/old' },
      '/old': { status: 302, redirect: '/new#top' },
      '/new': {},
      '/same': { redirect: '/same?utm_medium=x' },
      '/same?utm_medium=x': {},
    });
    const { pages, end, frontier } = await crawlSite(site, { bounds: { requestsInFlight: 1 } });
    expect(pages).toEqual([
      'page /',
      'skipped /new duplicate',
      'skipped /old duplicate',
      'page /new',
      'page /same',
    ]);
    expect(end?.isComplete).toBe(true);
    expect(frontier.every(({ isVisited }) => isVisited)).toBe(true);
  });

  test('leads to a page that nothing else links to', async () => {
    const site = await serveWebSite({
      '/': { links: ['/old'] },
      '/old': { redirect: '/new' },
      '/new': { links: ['/x'] },
      '/x': {},
    });
    const { pages, steps } = await crawlSite(site);
    expect(pages).toEqual(['page /', 'page /new', 'page /x']);
    expect(steps[1]).toMatchObject({
      visited: [`${site.url}/old`, `${site.url}/new`],
      found: [{ url: `${site.url}/new` }, { url: `${site.url}/x` }],
    });
  });

  test('in a loop, or with too many hops, is a failure of that page alone', async () => {
    const site = await serveWebSite({
      '/': { links: ['/circle', '/self', '/on/0', '/fine'] },
      '/circle': { redirect: '/circle-2' },
      '/circle-2': { redirect: '/circle' },
      '/self': { redirect: '/self' },
      '/fine': {},
    });
    for (let at = 0; at < 20; at += 1) site.pages.set(`/on/${at}`, { redirect: `/on/${at + 1}` });
    const { pages, end } = await crawlSite(site);
    expect(pages).toEqual([
      'page /',
      'failed /circle redirect_loop',
      'failed /self redirect_loop',
      'failed /on/0 redirect_loop',
      'page /fine',
    ]);
    expect(site.asked.length).toBeLessThan(15);
    expect(end?.isComplete).toBe(true);
  });

  test('a redirect of the start to its host with www moves the crawl there, with the rules of that host', async () => {
    const site = await serveWebSite({
      '/start': { redirect: '' },
      '/home': { links: ['/a', '/no'] },
      '/a': {},
      '/robots.txt': robotsOf('User-agent: *', 'Disallow: /no'),
    });
    const { port } = new URL(site.url);
    const moved = `http://www.sluice.test:${port}`;
    site.pages.set('/start', { status: 301, redirect: `${moved}/home` });
    const fetch = guardedFetch({
      blockPrivateAddresses: false,
      resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    });
    const start = `http://sluice.test:${port}/start`;
    const first = await crawlSite(site, { fetch, start }, 1);
    expect(first.pages).toEqual([`page ${moved}/home`]);
    expect(site.countOf('/robots.txt')).toBe(2);
    const { frontier, progress } = first;
    const second = await crawlSite(site, { fetch, start, frontier, progress });
    expect(second.pages).toEqual([`page ${moved}/a`]);
    expect(second.end?.isComplete).toBe(true);
  });

  test('to another host is not followed', async () => {
    const other = await serveWebSite({ '/': {} });
    const site = await serveWebSite({ '/': { links: ['/away'] }, '/away': { redirect: `${other.url}/` } });
    expect((await crawlSite(site)).pages).toEqual(['page /', 'failed /away redirected_off_host']);
    expect(other.asked).toEqual([]);
  });

  test('to a forbidden page is not followed', async () => {
    const site = await serveWebSite({
      '/robots.txt': robotsOf('User-agent: *', 'Disallow: /no'),
      '/': { links: ['/a'] },
      '/a': { redirect: '/no' },
    });
    expect((await crawlSite(site)).pages).toEqual(['page /', 'skipped /no robots']);
    expect(site.asked).not.toContain('/no');
  });

  test('a redirect of a page that had text does not remove it while the redirect is temporary', async () => {
    const site = await serveWebSite({
      '/': { links: ['/a'] },
      '/a': { links: ['/behind'] },
      '/behind': {},
      '/login': {},
    });
    const stored = remember(await crawlSite(site));
    site.pages.set('/a', { redirect: '/login' });
    const { pages, end } = await crawlSite(site, knownFrom(stored));
    expect(pages).toEqual(['page /', 'failed /a redirected_for_now']);
    expect(end?.isComplete).toBe(false);
  });
});

describe('a page', () => {
  test('a page that returns 404 or 410 is gone, unless the crawl starts there', async () => {
    const site = await serveWebSite({ '/': { links: ['/404', '/410'] }, '/410': { status: 410 } });
    const { pages, end } = await crawlSite(site);
    expect(pages).toEqual(['page /', 'gone /404', 'gone /410']);
    expect(end?.isComplete).toBe(true);
    site.pages.delete('/');
    const empty = await crawlSite(site);
    expect(empty.pages).toEqual(['failed / page_not_found']);
    expect(empty.end?.isComplete).toBe(false);
  });

  test('a failing page is requested again, and one that keeps failing makes the crawl incomplete', async () => {
    const site = await serveWebSite({
      '/': { links: ['/stumbles', '/fails', '/fine'] },
      '/stumbles': { trouble: { times: 2, status: 503 } },
      '/fails': { status: 500 },
      '/fine': {},
    });
    const { pages, end } = await crawlSite(site);
    expect(pages).toEqual(['page /', 'page /stumbles', 'failed /fails page_unavailable', 'page /fine']);
    expect(site.countOf('/fails')).toBe(3);
    expect(end).toMatchObject({ isComplete: false, reason: expect.stringContaining('answered 500') });
  });

  test('a page that never responds fails after its timeout', async () => {
    const site = await serveWebSite({
      '/': { links: ['/hangs', '/fine'] },
      '/hangs': { hangs: true },
      '/fine': {},
    });
    const { pages, end } = await crawlSite(site, { bounds: { timeoutMs: 2_000, retryDelaysMs: [] } });
    expect(pages).toEqual(['page /', 'failed /hangs fetch_timeout', 'page /fine']);
    expect(end?.isComplete).toBe(false);
  });

  test('a page that asks for a pause gets it, up to a bound', async () => {
    const pauses: number[] = [];
    const wait = async (ms: number) => {
      pauses.push(ms);
    };
    const site = await serveWebSite({
      '/': { trouble: { times: 1, status: 429, headers: { 'retry-after': '7' } }, links: ['/later'] },
      '/later': { status: 429, headers: { 'retry-after': '3600' } },
    });
    const { pages } = await crawlSite(site, { wait });
    expect(pages).toEqual(['page /', 'failed /later page_throttled']);
    expect(pauses.some((ms) => ms > 6_000 && ms <= 7_000)).toBe(true);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(7_000);
    expect(site.countOf('/later')).toBe(1);
  });

  test('a page that is refused makes the crawl incomplete only if it was read before', async () => {
    const site = await serveWebSite({
      '/': { links: ['/admin', '/a'] },
      '/admin': { status: 401 },
      '/a': {},
    });
    const first = await crawlSite(site);
    expect(first.pages).toEqual(['page /', 'failed /admin page_refused', 'page /a']);
    expect(first.end?.isComplete).toBe(true);
    site.pages.set('/a', { status: 403 });
    expect((await crawlSite(site, knownFrom(remember(first)))).end?.isComplete).toBe(false);
  });

  test('a page of a site that went down is the last one requested after several failures in a row', async () => {
    const links = Array.from({ length: 100 }, (_, at) => `/${at}`);
    const site = await serveWebSite({ '/': { links } });
    for (const link of links) site.pages.set(link, { status: 502 });
    const { pages, end } = await crawlSite(site, { bounds: { retryDelaysMs: [] } });
    expect(pages).toHaveLength(11);
    expect(site.asked.length).toBeLessThan(20);
    expect(end).toMatchObject({ isComplete: false, reason: expect.stringContaining('10 pages in a row') });
  });

  test('a page that is too large fails, and one of another media type is skipped without being read', async () => {
    const site = await serveWebSite({
      '/': { links: ['/large', '/film', '/notes'] },
      '/large': { body: 'x'.repeat(20_000) },
      '/film': { type: 'video/mp4', body: Buffer.alloc(1_000_000) },
      '/notes': { type: 'text/plain; charset=utf-8', body: 'see <a href="/x">' },
    });
    const { pages, steps } = await crawlSite(site, { bounds: { maxPageBytes: 10_000 } });
    expect(pages).toEqual([
      'page /',
      'failed /large response_too_large',
      'skipped /film media_type',
      'page /notes',
    ]);
    expect(steps[3]).toMatchObject({
      page: { mediaType: 'text/plain; charset=utf-8', bytes: expect.any(Buffer) },
    });
  });

  test('a page that asks not to be indexed is skipped, and one with a canonical address is read there', async () => {
    const site = await serveWebSite({
      '/': { links: ['/secret', '/print/x', '/loop-long', '/header'] },
      '/secret': { head: '<meta name="robots" content="noindex">', links: ['/behind'] },
      '/behind': {},
      '/print/x': { head: '<link rel="canonical" href="/x">' },
      '/x': { head: '<link rel="canonical" href="/x">' },
      '/loop-long': { head: '<link rel="canonical" href="/loop">' },
      '/loop': { head: '<link rel="canonical" href="/loop-long">' },
      '/header': { headers: { 'x-robots-tag': 'noindex, nofollow' }, links: ['/never'] },
    });
    expect((await crawlSite(site)).pages).toEqual([
      'page /',
      'skipped /secret noindex',
      'skipped /print/x duplicate',
      'skipped /loop-long duplicate',
      'skipped /header noindex',
      'page /behind',
      'page /x',
      'page /loop',
    ]);
  });

  test('a canonical address is followed whatever its length, and one of two that name each other stays', async () => {
    const site = await serveWebSite({
      '/': { links: ['/p', '/2026/11/p-in-full', '/a', '/b-longer'] },
      '/p': { head: '<link rel="canonical" href="/2026/11/p-in-full">' },
      '/2026/11/p-in-full': {},
      '/a': { head: '<link rel="canonical" href="/b-longer">' },
      '/b-longer': { head: '<link rel="canonical" href="/a">' },
    });
    expect((await crawlSite(site)).pages).toEqual([
      'page /',
      'skipped /p duplicate',
      'page /2026/11/p-in-full',
      'skipped /a duplicate',
      'page /b-longer',
    ]);
  });

  test('one of two pages that name each other stays also when the crawl stopped between them', async () => {
    const site = await serveWebSite({
      '/': { links: ['/a', '/b-longer'] },
      '/a': { head: '<link rel="canonical" href="/b-longer">' },
      '/b-longer': { head: '<link rel="canonical" href="/a">' },
    });
    const first = await crawlSite(site, { bounds: { requestsInFlight: 1 } }, 2);
    expect(first.pages).toEqual(['page /', 'skipped /a duplicate']);
    const { frontier, progress } = first;
    expect((await crawlSite(site, { frontier, progress })).pages).toEqual(['page /b-longer']);
  });

  test.each([
    ['0; url=/new', 'skipped /old duplicate', true],
    [`0;URL='/new'`, 'skipped /old duplicate', true],
    ['5, /new', 'skipped /old duplicate', true],
    ['60; url=/new', 'page /old', false],
    ['30', 'page /old', false],
  ])('a meta refresh of %s leads on only if it is quick', async (content, seen, isFollowed) => {
    const site = await serveWebSite({
      '/': { links: ['/old'] },
      '/old': { head: `<meta http-equiv="Refresh" content="${content}">` },
      '/new': {},
    });
    const { pages } = await crawlSite(site);
    expect(pages).toEqual(['page /', seen, ...(isFollowed ? ['page /new'] : [])]);
  });
});
