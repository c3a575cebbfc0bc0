import { describe, expect, test } from 'vitest';
import { cancel } from '../../src/kernel/jobs/dispatch/service.ts';
import { manualPages, serveWebSite, sitemapOf, type WebSite } from '../support/fakes/site.ts';
import { useScrapes } from '../support/servers/scrape-server.ts';
import { useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const scrapes = useScrapes(database, { bounds: { delayMs: 0, retryDelaysMs: [] } });

type Claims = Awaited<ReturnType<typeof scrapes.tenant>>;

async function crawlSource(claims: Claims, body: object): Promise<void> {
  const answer = await scrapes.call(claims, '/api/scraping/sources/site', {
    method: 'PUT',
    body: { mode: 'crawl', kb_id: 'kb', ...body },
  });
  expect(answer.status).toBeLessThan(300);
}

/** Starts the crawl, runs everything, and returns its run. */
async function crawl(claims: Claims): Promise<Record<string, unknown>> {
  const started = await scrapes.sync(claims, undefined, 'site');
  expect(started.status).toBe(202);
  expect(started.body).toMatchObject({ references_persisted: 0, handoff_queued_count: 0, status: 'running' });
  await scrapes.drive(claims.tenantId);
  return (await scrapes.call(claims, String(started.headers.get('location')))).body;
}

async function references(claims: Claims): Promise<{ url: string; title: string; gone_at: string | null }[]> {
  const answer = await scrapes.call(claims, '/api/scraping/site/references?limit=100');
  return answer.body.data as { url: string; title: string; gone_at: string | null }[];
}

const paths = (site: WebSite, rows: { url: string }[]) =>
  rows.map(({ url }) => url.slice(site.url.length)).sort();

describe('a crawl of a web site', () => {
  test('hands over every page that may be read, and all of them are found', async () => {
    const claims = await scrapes.tenant();
    const site = await serveWebSite(manualPages);
    await crawlSource(claims, { url: site.url });
    const run = await crawl(claims);
    expect(run).toMatchObject({
      status: 'completed',
      mode: 'crawl',
      references_persisted: 6,
      handoff_queued_count: 6,
      handoffs: { queued: 0, running: 0, completed: 6, failed: 0 },
    });
    expect(paths(site, await references(claims))).toEqual(
      ['/', '/motor', '/notes.txt', '/pump', '/spare-parts', '/valve'].sort(),
    );
    expect(
      (await scrapes.search(claims, 'open the valve by hand when there is no electricity'))[0],
    ).toMatchObject({
      uri: `${site.url}/valve`,
    });
  });

  test('sends conditional requests also when a page failed last time, and reads that page', async () => {
    const claims = await scrapes.tenant();
    const page = { etag: '"1"' };
    const site = await serveWebSite({
      '/': { links: ['/a', '/b'], ...page },
      '/a': page,
      '/b': { ...page, status: 503 },
    });
    await crawlSource(claims, { url: `${site.url}/`, sitemap: false });
    expect(await crawl(claims)).toMatchObject({
      is_complete: false,
      pages_failed: 1,
      delay_ms: 0,
      paused_ms: 0,
    });
    site.pages.set('/b', page);
    site.forgetRequests();
    expect(await crawl(claims)).toMatchObject({ is_complete: true, pages_failed: 0 });
    const statusOf = new Map(site.requests.map(({ path, status }) => [path, status]));
    expect([statusOf.get('/'), statusOf.get('/a'), statusOf.get('/b')]).toEqual([304, 304, 200]);
  });

  test('says how politely it went about the site', async () => {
    const claims = await scrapes.tenant();
    const site = await serveWebSite({
      '/robots.txt': { body: 'User-agent: *\nCrawl-delay: 0.05', type: 'text/plain' },
      '/': { links: ['/a'] },
      '/a': {},
    });
    await crawlSource(claims, { url: `${site.url}/`, sitemap: false });
    expect(await crawl(claims)).toMatchObject({ is_complete: true, delay_ms: 50, paused_ms: 0 });
  });

  test('starts by its schedule, once for all ticks that were missed', async () => {
    const claims = await scrapes.tenant();
    const site = await serveWebSite({ '/': {} });
    await crawlSource(claims, { url: `${site.url}/`, sitemap: false, every_hours: 6 });
    const source = async () => (await scrapes.call(claims, '/api/scraping/sources/site')).body;
    const hoursAhead = async () =>
      (Date.parse(String((await source()).next_crawl_at)) - Date.now()) / 3_600_000;
    expect(await source()).toMatchObject({ every_hours: 6, last_run: null });
    expect(await hoursAhead()).toBeCloseTo(6, 1);
    await database.owner(
      `update scrape_sources set next_crawl_at = clock_timestamp() - interval '20 hours' where tenant_id = $1`,
      [claims.tenantId],
    );
    const task = scrapes.scrapes.tasks.find(({ name }) => name === 'schedule_crawls');
    await Promise.all([task?.run(), task?.run(), task?.run()]);
    await scrapes.drive(claims.tenantId);
    const { body } = await scrapes.call(claims, '/api/scraping/site/runs');
    expect(body.data).toHaveLength(1);
    expect(await hoursAhead()).toBeCloseTo(4, 1);
    await crawlSource(claims, { url: `${site.url}/`, sitemap: false });
    expect(await source()).toMatchObject({ every_hours: null, next_crawl_at: null });
  });

  test('sends conditional requests and hands over only changed pages', async () => {
    const claims = await scrapes.tenant();
    const site = await serveWebSite(manualPages);
    site.pages.delete('/circle');
    site.pages.set('/', { ...site.pages.get('/'), links: ['/pump', '/motor'] });
    await crawlSource(claims, { url: site.url });
    await crawl(claims);
    const jobs = await database.owner('select from ingestion_jobs where tenant_id = $1', [claims.tenantId]);
    site.forgetRequests();
    site.pages.set('/valve', {
      title: 'Valve',
      text: 'The valve was replaced by a lever.',
      etag: '"valve-2"',
    });
    const run = await crawl(claims);
    expect(run).toMatchObject({ handoff_queued_count: 1, references_changed: 1 });
    expect(Number(run.handoff_skipped_count) + 1).toBe(run.references_persisted);
    expect(site.requests.filter(({ status }) => status === 304).length).toBeGreaterThan(0);
    const after = await database.owner('select from ingestion_jobs where tenant_id = $1', [claims.tenantId]);
    expect(after.length - jobs.length, 'the crawl itself, and one page').toBe(2);
    expect((await scrapes.search(claims, 'valve replaced by a lever'))[0]?.text).toContain('lever');
  });

  test('marks pages that return 404 or 410 as gone, and restores them when they return', async () => {
    const claims = await scrapes.tenant();
    const site = await serveWebSite({ '/': { title: 'Home', links: ['/one'] }, '/one': { title: 'One' } });
    await crawlSource(claims, { url: site.url });
    await crawl(claims);
    const page = site.pages.get('/one') ?? {};
    site.pages.delete('/one');
    await crawl(claims);
    const gone = async () => (await references(claims)).filter(({ gone_at }) => gone_at !== null);
    expect(paths(site, await gone())).toEqual(['/one']);
    site.pages.set('/one', page);
    expect(await crawl(claims)).toMatchObject({ handoff_queued_count: 1 });
    expect(await gone()).toEqual([]);
  });

  test('fails with a reason and deletes nothing when the site is down', async () => {
    const claims = await scrapes.tenant();
    const site = await serveWebSite({ '/': { title: 'Home', links: ['/one'] }, '/one': { title: 'One' } });
    await crawlSource(claims, { url: site.url });
    await crawl(claims);
    for (const path of ['/', '/one']) site.pages.set(path, { status: 500 });
    const run = await crawl(claims);
    expect(run).toMatchObject({ status: 'failed', error_code: 'scrape_crawl_failed' });
    expect(run.error_text).toContain('500');
    expect((await references(claims)).map(({ gone_at }) => gone_at)).toEqual([null, null]);
    expect(await scrapes.search(claims, 'what One says')).not.toEqual([]);
  });

  test('runs one at a time, can be canceled, and keeps what it has', async () => {
    const claims = await scrapes.tenant();
    const site = await serveWebSite({ '/': { title: 'Home' } });
    await crawlSource(claims, { url: site.url });
    const started = await scrapes.sync(claims, undefined, 'site');
    const second = await scrapes.sync(claims, undefined, 'site');
    expect(second).toMatchObject({ status: 409, body: { active_job_id: started.body.job_id } });
    expect((await scrapes.call(claims, '/api/scraping/sources/site', { method: 'DELETE' })).status).toBe(409);
    await cancel(scrapes.held.kernel, { tenantId: claims.tenantId, jobId: String(started.body.job_id) });
    const run = await scrapes.call(claims, String(started.headers.get('location')));
    expect(run.body).toMatchObject({ status: 'failed', error_code: 'canceled' });
    expect((await crawl(claims)).status).toBe('completed');
  });
});

describe('a crawl of a sitemap', () => {
  test('reads the pages listed in it and no others', async () => {
    const claims = await scrapes.tenant();
    const site = await serveWebSite((url) => ({
      '/map.xml': sitemapOf([`${url}/one`, `${url}/two`, 'https://elsewhere.example/three']),
      '/one': { title: 'One', links: ['/not-named'] },
      '/two': { title: 'Two' },
      '/not-named': { title: 'Not named' },
    }));
    await crawlSource(claims, { kind: 'sitemap', url: `${site.url}/map.xml` });
    expect(await crawl(claims)).toMatchObject({
      status: 'completed',
      references_persisted: 2,
      is_complete: true,
    });
    expect(paths(site, await references(claims))).toEqual(['/one', '/two']);
    expect(site.countOf('/not-named')).toBe(0);
  });

  test('fails when the file is not a sitemap', async () => {
    const claims = await scrapes.tenant();
    const site = await serveWebSite({ '/map.xml': { title: 'A page' } });
    await crawlSource(claims, { kind: 'sitemap', url: `${site.url}/map.xml` });
    expect(await crawl(claims)).toMatchObject({ status: 'failed', error_code: 'scrape_crawl_failed' });
  });
});

const feedOf = (...items: string[]) => ({
  type: 'application/rss+xml',
  body: `<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>${items.join('')}</channel></rss>`,
});
const item = (id: string, text: string) =>
  `<item><title>${id}</title><guid isPermaLink="false">${id}</guid><link>/posts/${id}</link>` +
  `<description>&lt;p&gt;${text}&lt;/p&gt;</description></item>`;

describe('a crawl of a feed', () => {
  test('hands over each entry as a reference', async () => {
    const claims = await scrapes.tenant();
    const site = await serveWebSite({
      '/feed.xml': feedOf(item('n1', 'Herons came back.'), item('n2', 'Otters were seen.')),
    });
    await crawlSource(claims, { kind: 'feed', url: `${site.url}/feed.xml` });
    expect(await crawl(claims)).toMatchObject({ references_persisted: 2, handoff_queued_count: 2 });
    const [found] = await scrapes.search(claims, 'otters were seen');
    expect(found).toEqual({ text: 'Otters were seen.', uri: `${site.url}/posts/n2` });
    site.pages.set('/feed.xml', feedOf(item('n2', 'Otters were seen.'), item('n3', 'Storks are late.')));
    expect(await crawl(claims)).toMatchObject({ handoff_queued_count: 1, handoff_skipped_count: 1 });
    expect(await references(claims)).toHaveLength(3);
  });

  test('fails with a reason when the file is not a feed', async () => {
    const claims = await scrapes.tenant();
    const site = await serveWebSite({ '/feed.xml': { title: 'No feed' } });
    await crawlSource(claims, { kind: 'feed', url: `${site.url}/feed.xml` });
    const run = await crawl(claims);
    expect(run).toMatchObject({ status: 'failed', error_code: 'scrape_crawl_failed' });
    expect(run.error_text).toContain('not a feed');
  });
});
