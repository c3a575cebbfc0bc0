import { describe, expect, test } from 'vitest';
import { robotsOf, type SitePage, serveWebSite, sitemapOf } from '../../../test/support/fakes/site.ts';
import { crawlSite } from '../../../test/support/worlds/crawl-runs.ts';

const patience = { timeout: 15_000 };
const tree: Record<string, SitePage> = {
  '/': { links: ['/a', '/b', '/a#x', 'http://elsewhere.invalid/'] },
  '/a': { links: ['/a/1', '/a/2', '/'], etag: '"a"' },
  '/b': { links: ['/a/2', '/b/1'], lastModified: 'Tue, 06 Jan 2026 08:00:00 GMT' },
  '/a/1': { links: ['/deep'] },
  '/a/2': {},
  '/b/1': {},
  '/deep': { links: ['/deeper'] },
  '/deeper': {},
};
const treeInOrder = ['/', '/a', '/b', '/a/1', '/a/2', '/b/1', '/deep', '/deeper'].map(
  (path) => `page ${path}`,
);

describe('a crawl', () => {
  test('visits every page of the host once, breadth first, in the order of links', async () => {
    const site = await serveWebSite(tree);
    const { pages, end } = await crawlSite(site);
    expect(pages).toEqual(treeInOrder);
    expect(end).toMatchObject({ isComplete: true });
    expect(site.asked.filter((path) => path !== '/robots.txt').sort()).toEqual(Object.keys(tree).sort());
  });

  test('runs several requests at once, and still yields its steps in order', async () => {
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const slow: Record<string, SitePage> = { '/1': { waitsFor: gate } };
    const site = await serveWebSite({ '/': { links: ['/1', '/2', '/3', '/4', '/5', '/6'] }, ...slow });
    for (const path of ['/2', '/3', '/4', '/5', '/6']) site.pages.set(path, {});
    const crawling = crawlSite(site);
    await expect.poll(() => site.asked, patience).toEqual(expect.arrayContaining(['/1', '/2', '/3', '/4']));
    expect(site.asked).not.toContain('/5');
    open();
    expect((await crawling).pages).toEqual(
      ['/', '/1', '/2', '/3', '/4', '/5', '/6'].map((path) => `page ${path}`),
    );
    expect(site.mostInFlight).toBeLessThanOrEqual(4);
  });

  test('goes no deeper and visits no more pages than allowed', async () => {
    const site = await serveWebSite(tree);
    const shallow = await crawlSite(site, { bounds: { maxDepth: 1 } });
    expect(shallow.pages).toEqual(['page /', 'page /a', 'page /b']);
    expect(shallow.end?.isComplete).toBe(true);
    const few = await crawlSite(site, { bounds: { maxPages: 4 } });
    expect(few.pages).toEqual(treeInOrder.slice(0, 4));
    expect(few.end).toMatchObject({
      isComplete: false,
      reason: expect.stringContaining('more pages than the limit of this crawl, 4'),
    });
  });

  test('a crawl of a page with 10,000 links requests and remembers no more pages than allowed', async () => {
    const links = Array.from({ length: 10_000 }, (_, at) => `/page-${at}`);
    const site = await serveWebSite({ '/': { links } });
    const { frontier, end } = await crawlSite(site, { bounds: { maxPages: 50 } });
    expect(frontier).toHaveLength(50);
    expect(site.asked).toHaveLength(51);
    expect(end?.isComplete).toBe(false);
  });

  test('does not follow a calendar for ever', async () => {
    const site = await serveWebSite({ '/': { links: ['/day?n=0'] } });
    for (let day = 0; day < 40; day += 1) site.pages.set(`/day?n=${day}`, { links: [`/day?n=${day + 1}`] });
    const { pages, end } = await crawlSite(site, { bounds: { maxQueriesPerPath: 5, maxDepth: 100 } });
    expect(pages).toHaveLength(6);
    expect(end?.isComplete).toBe(false);
  });

  test('stays on the requested paths, but starts at its start page even outside of them', async () => {
    const site = await serveWebSite(tree);
    const { pages } = await crawlSite(site, { scope: { include: ['/a'], exclude: ['/a/2'] } });
    expect(pages).toEqual(['skipped / out_of_scope', 'page /a', 'page /a/1']);
  });

  test('can stop after any step and continue, without requesting stored pages again', async () => {
    const site = await serveWebSite({ ...tree, '/sitemap.xml': sitemapOf([]) });
    site.pages.set('/sitemap.xml', sitemapOf([`${site.url}/only-in-sitemap`]));
    site.pages.set('/only-in-sitemap', {});
    const whole = await crawlSite(site, { useSitemap: true });
    for (let steps = 1; steps < whole.steps.length; steps += 1) {
      const first = await crawlSite(site, { useSitemap: true }, steps);
      site.forgetRequests();
      const { frontier, progress } = first;
      const second = await crawlSite(site, { useSitemap: true, frontier, progress });
      expect([...first.pages, ...second.pages], `left after ${steps}`).toEqual(whole.pages);
      expect(second.end).toEqual(whole.end);
      for (const { url, isVisited } of frontier) {
        if (isVisited) expect(site.countOf(new URL(url).pathname), url).toBe(0);
      }
    }
  });

  test('visits a page once that was stored as found twice', async () => {
    const site = await serveWebSite(tree);
    const { frontier, progress } = await crawlSite(site, {}, 2);
    site.forgetRequests();
    const { pages } = await crawlSite(site, { frontier: [...frontier, ...frontier], progress });
    expect(pages).toEqual(treeInOrder.slice(2));
    const unsure = [...frontier, ...frontier.map((page) => ({ ...page, isVisited: false }))];
    expect((await crawlSite(site, { frontier: unsure, progress })).pages).toEqual(treeInOrder.slice(2));
  });

  test('ends its requests when it is stopped', async () => {
    let bothAreAsked = () => {};
    const waitsFor = new Promise<void>((resolve) => {
      bothAreAsked = resolve;
    });
    const last = {
      get hangs() {
        bothAreAsked();
        return true;
      },
    };
    const site = await serveWebSite({ '/': { links: ['/a', '/b'] }, '/a': { waitsFor }, '/b': last });
    const bounds = { timeoutMs: 60_000 };
    await crawlSite(site, { bounds }, 2);
    await expect.poll(() => site.inFlight, patience).toBe(0);
    const stop = new AbortController();
    const crawling = crawlSite(site, { bounds, signal: stop.signal });
    await expect.poll(() => site.countOf('/b'), patience).toBe(2);
    stop.abort(new Error('enough'));
    await expect(crawling).rejects.toThrow('enough');
  });
});

describe('robots.txt', () => {
  test('keeps the crawl away from what it forbids, and says so', async () => {
    const site = await serveWebSite({
      '/robots.txt': robotsOf('User-agent: *', 'Disallow: /a'),
      ...tree,
    });
    const { pages, end } = await crawlSite(site);
    expect(pages).toEqual(['page /', 'skipped /a robots', 'page /b', 'skipped /a/2 robots', 'page /b/1']);
    expect(site.asked).not.toContain('/a');
    expect(end).toMatchObject({ isComplete: true, reason: expect.stringContaining('2 robots') });
  });

  test('robots.txt that forbids the start page ends the crawl as incomplete', async () => {
    const site = await serveWebSite({
      '/robots.txt': robotsOf('User-agent: sluice', 'Disallow: /'),
      '/': {},
    });
    const { pages, end } = await crawlSite(site);
    expect(pages).toEqual(['skipped / robots']);
    expect(end?.isComplete).toBe(false);
    expect(site.asked).toEqual(['/robots.txt']);
  });

  test('robots.txt that does not exist allows everything, and one that fails forbids everything for now', async () => {
    const site = await serveWebSite({ '/': {}, '/robots.txt': { status: 403 } });
    expect((await crawlSite(site)).pages).toEqual(['page /']);
    for (const status of [500, 503, 429]) {
      site.pages.set('/robots.txt', { status });
      site.forgetRequests();
      const { pages, end } = await crawlSite(site);
      expect(pages, String(status)).toEqual(['failed / robots_unreachable']);
      expect(end?.isComplete).toBe(false);
      expect(site.asked).toEqual(['/robots.txt', '/robots.txt', '/robots.txt']);
    }
  });

  test('is read up to 500 KB', async () => {
    const filler = `# ${'x'.repeat(98)}\n`.repeat(5_120);
    const body = `User-agent: *\nDisallow: /a\n${filler}Disallow: /b\n`;
    const site = await serveWebSite({
      '/': { links: ['/a', '/b'] },
      '/b': {},
      '/robots.txt': { type: 'text/plain', body },
    });
    const expected = ['page /', 'skipped /a robots', 'page /b'];
    expect((await crawlSite(site)).pages).toEqual(expected);
    site.pages.set('/robots.txt', { type: 'text/plain', body, isEndless: true });
    expect((await crawlSite(site, { bounds: { timeoutMs: 10_000 } })).pages).toEqual(expected);
  });

  test('slows the crawl down, up to a bound', async () => {
    const pauses: number[] = [];
    const slow = Object.entries(tree).map(([path, page]) => [path, { ...page, delayMs: 30 }]);
    const robots = robotsOf('User-agent: *', 'Crawl-delay: 60');
    const site = await serveWebSite({ '/robots.txt': robots, ...Object.fromEntries(slow) });
    await crawlSite(site, {
      bounds: { maxCrawlDelayMs: 9_000 },
      wait: async (ms) => {
        pauses.push(ms);
      },
    });
    expect(site.mostInFlight).toBe(1);
    expect(pauses).toHaveLength(7);
    expect(Math.max(...pauses)).toBeGreaterThan(8_000);
  });
});
