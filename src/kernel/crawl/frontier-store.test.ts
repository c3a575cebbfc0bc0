import { describe, expect, test } from 'vitest';
import { newTenant, useDatabase } from '../../../test/support/worlds/database.ts';
import { newId } from '../../lib/ids.ts';
import type { Tx } from '../../lib/postgres/db.ts';
import { migrateDown, migrateUp } from '../../lib/postgres/migrate.ts';
import { type CrawlKey, deleteFrontier, extendFrontier, listFrontier } from './frontier-store.ts';

const database = useDatabase();

async function newCrawl(pipeline: 'knowledge' | 'scrapes'): Promise<CrawlKey> {
  const tenantId = await newTenant(database);
  const jobId = newId();
  const source = pipeline === 'knowledge' ? newId() : 'docs';
  await database.owner(
    `insert into ingestion_jobs (tenant_id, job_id, pipeline, subject_id, max_retries, created_by, correlation_id)
     values ($1, $2, $3, $4, 3, 'someone', gen_random_uuid())`,
    [tenantId, jobId, pipeline, pipeline === 'scrapes' ? source : 'kb'],
  );
  return { tenantId, jobId, source };
}

function within<T>({ tenantId }: CrawlKey, work: (tx: Tx) => Promise<T>): Promise<T> {
  return database.db.tenant(tenantId, work);
}

const pages = (...urls: string[]) => urls.map((url, depth) => ({ url, depth }));

describe('a frontier', () => {
  test('keeps the order in which pages were found, and which of them were visited', async () => {
    const key = await newCrawl('scrapes');
    await within(key, (tx) => extendFrontier(tx, key, { found: pages('/b', '/a'), visited: ['/b'] }));
    await within(key, (tx) => extendFrontier(tx, key, { found: pages('/a', '/c'), visited: ['/a', '/r'] }));
    expect(await within(key, (tx) => listFrontier(tx, key))).toEqual([
      { url: '/b', depth: 0, isVisited: true },
      { url: '/a', depth: 1, isVisited: true },
      { url: '/r', depth: 0, isVisited: true },
      { url: '/c', depth: 1, isVisited: false },
    ]);
  });

  test('belongs to one source of one job, and goes with the job in batches', async () => {
    const key = await newCrawl('knowledge');
    const other = { ...key, source: newId() };
    await within(key, (tx) => extendFrontier(tx, key, { found: pages('/1', '/2'), visited: [] }));
    await within(key, (tx) => extendFrontier(tx, other, { found: pages('/3'), visited: [] }));
    expect(await within(key, (tx) => listFrontier(tx, other))).toHaveLength(1);
    const removed = await within(key, (tx) => deleteFrontier(tx, { ...key, limit: 2 }));
    expect(removed).toBe(2);
    expect(await within(key, (tx) => deleteFrontier(tx, { ...key, limit: 2 }))).toBe(1);
  });
});

// A crawl may go back and forth between programs of two versions while an installation is upgraded.
describe.each(['knowledge', 'scrapes'] as const)('during an upgrade, the frontier of %s', (pipeline) => {
  const table = `${pipeline === 'knowledge' ? 'knowledge' : 'scrape'}_frontier`;
  const [extra, value] = pipeline === 'knowledge' ? ['source_id, ', '$4::uuid, '] : ['', ''];

  /** The statements of the version before migration 19. */
  async function visitAsOldProgram(key: CrawlKey, url: string, isVisited: boolean): Promise<void> {
    const conflict = `tenant_id, job_id, ${extra}url_key`;
    const then = isVisited ? 'do update set is_visited = true' : 'do nothing';
    await within(key, (tx) =>
      tx.run({
        text: `insert into ${table} (tenant_id, job_id, ${extra}url, url_key, depth, is_visited)
               values ($1, $2, ${value}$3, sha256(convert_to($3, 'UTF8')), 1, ${isVisited})
               on conflict (${conflict}) ${then}`,
        values: [key.tenantId, key.jobId, url, ...(pipeline === 'knowledge' ? [key.source] : [])],
      }),
    );
  }

  const listAsOldProgram = (key: CrawlKey) =>
    database.owner(`select url, is_visited from ${table} where job_id = $1 order by seq`, [key.jobId]);

  test('is the same for old and new programs, whichever adds a page or visits it', async () => {
    const key = await newCrawl(pipeline);
    await visitAsOldProgram(key, '/old', false);
    await within(key, (tx) => extendFrontier(tx, key, { found: pages('/new'), visited: ['/old'] }));
    await visitAsOldProgram(key, '/new', true);
    expect(await within(key, (tx) => listFrontier(tx, key))).toEqual([
      { url: '/old', depth: 1, isVisited: true },
      { url: '/new', depth: 0, isVisited: true },
    ]);
    expect(await listAsOldProgram(key)).toEqual([
      { url: '/old', is_visited: true },
      { url: '/new', is_visited: true },
    ]);
  });

  test('goes with its copy, whichever program deletes it', async () => {
    const key = await newCrawl(pipeline);
    await within(key, (tx) => extendFrontier(tx, key, { found: pages('/1', '/2'), visited: [] }));
    await within(key, (tx) => deleteFrontier(tx, { ...key, limit: 100 }));
    expect(await listAsOldProgram(key)).toEqual([]);
    await visitAsOldProgram(key, '/3', false);
    await within(key, (tx) =>
      tx.run({ text: `delete from ${table} where job_id = $1`, values: [key.jobId] }),
    );
    expect(await within(key, (tx) => listFrontier(tx, key))).toEqual([]);
  });

  test('takes over what crawls had open before the migration', async () => {
    const key = await newCrawl(pipeline);
    await migrateDown(database.ownerUrl, { to: 18 });
    await visitAsOldProgram(key, '/second', false);
    await visitAsOldProgram(key, '/first', true);
    await migrateUp(database.ownerUrl, { features: ['handoffs'] });
    // The key that signs tenants is a new one, which a running process sees with its first refusal.
    await expect(within(key, (tx) => listFrontier(tx, key))).rejects.toMatchObject({
      code: 'tenant_not_signed',
    });
    expect(await within(key, (tx) => listFrontier(tx, key))).toEqual([
      { url: '/second', depth: 1, isVisited: false },
      { url: '/first', depth: 1, isVisited: true },
    ]);
  });
});
