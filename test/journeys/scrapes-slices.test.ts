import { expect, test } from 'vitest';
import { serveWebSite } from '../support/fakes/site.ts';
import { useScrapes } from '../support/servers/scrape-server.ts';
import { useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const scrapes = useScrapes(database, { scrapeSliceMs: 1, bounds: { delayMs: 0, retryDelaysMs: [] } });

test('a crawl of a site continues where its last slice ended and counts nothing twice', async () => {
  const claims = await scrapes.tenant();
  const names = Array.from({ length: 24 }, (_, at) => `/p${at}`);
  const site = await serveWebSite({
    '/': { title: 'Home', links: names },
    ...Object.fromEntries(names.map((name) => [name, { title: name }])),
  });
  const body = { mode: 'crawl', kb_id: 'kb', url: site.url };
  await scrapes.call(claims, '/api/scraping/sources/site', { method: 'PUT', body });
  const started = await scrapes.sync(claims, undefined, 'site');
  await scrapes.drive(claims.tenantId);
  const run = await scrapes.call(claims, String(started.headers.get('location')));
  expect(run.body).toMatchObject({
    status: 'completed',
    is_complete: true,
    references_persisted: 25,
    references_created: 25,
    handoff_queued_count: 25,
    handoffs: { completed: 25 },
  });
  const [job] = await database.owner<{ lease_epoch: string; status: string }>(
    `select lease_epoch, status from ingestion_jobs where tenant_id = $1 and pipeline = 'scrapes'`,
    [claims.tenantId],
  );
  expect(job?.status).toBe('success');
  expect(Number(job?.lease_epoch), 'slices').toBeGreaterThan(5);
  // What is under way when a slice ends is asked for once more, and nothing else.
  for (const name of names) expect(site.countOf(name), name).toBeLessThanOrEqual(5);
  expect(await database.owner('select from crawl_frontier')).toEqual([]);
});

test('a crawl of a feed continues where its last slice ended and counts nothing twice', async () => {
  const claims = await scrapes.tenant();
  const items = Array.from(
    { length: 12 },
    (_, at) =>
      `<item><title>t${at}</title><guid isPermaLink="false">n${at}</guid><description>Text ${at}</description></item>`,
  );
  const site = await serveWebSite({
    '/feed.xml': {
      type: 'application/rss+xml',
      body: `<rss version="2.0"><channel>${items.join('')}</channel></rss>`,
    },
  });
  const body = { mode: 'crawl', kind: 'feed', kb_id: 'kb', url: `${site.url}/feed.xml` };
  await scrapes.call(claims, '/api/scraping/sources/site', { method: 'PUT', body });
  const started = await scrapes.sync(claims, undefined, 'site');
  await scrapes.drive(claims.tenantId);
  const run = await scrapes.call(claims, String(started.headers.get('location')));
  expect(run.body).toMatchObject({ status: 'completed', references_persisted: 12, handoff_queued_count: 12 });
  expect(site.countOf('/feed.xml'), 'slices').toBeGreaterThan(3);
});
