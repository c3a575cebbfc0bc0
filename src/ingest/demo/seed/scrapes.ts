import type { DemoGround } from '../types.ts';

const kbId = 'northwind-site';
const source = 'northwind-site';

/** A crawl of the demo’s site, whose pages are handed over to a knowledge base. */
export async function startCrawl({ call, host }: DemoGround): Promise<void> {
  const allow = [409];
  const base = { kb_id: kbId, name: 'The site of Northwind (demo)' };
  await call({ method: 'POST', path: '/api/knowledge', body: base, allow });
  await call({
    method: 'PUT',
    path: `/api/scraping/sources/${source}`,
    body: { mode: 'crawl', kb_id: kbId, url: `http://${host}/`, max_pages: 50 },
  });
  await call({ method: 'POST', path: `/api/scraping/${source}/sync`, body: {}, allow });
}
