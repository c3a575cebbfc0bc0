import { afterEach, describe, expect, test } from 'vitest';
import { assertUsable, migrateDown, migrateUp, readMigrations } from '../../src/lib/postgres/migrate.ts';
import { readSchemaStateOf } from '../../src/lib/postgres/schema-state.ts';
import { serveWebSite } from '../support/fakes/site.ts';
import { referenceNamed, useScrapes } from '../support/servers/scrape-server.ts';
import { useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const scrapes = useScrapes(database, { bounds: { delayMs: 0, retryDelaysMs: [] } });

const down = () => migrateDown(database.ownerUrl, { feature: 'handoffs' });
const up = () => migrateUp(database.ownerUrl, { features: ['handoffs'] });

afterEach(up);

describe('with hand-offs taken down', () => {
  test('syncs store references, hand-offs are a 503 with the reason, and the schema is usable', async () => {
    const claims = await scrapes.tenant();
    await scrapes.push(claims, [referenceNamed('a', 'Herons wait for fish.')]);
    expect((await down()).reverted).toEqual(['0011_handoffs']);
    const answer = await scrapes.sync(claims, [referenceNamed('b', 'Otters swim at night.')]);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      references_persisted: 1,
      references_created: 1,
      handoff_queued_count: 0,
      handoff_completed_count: 0,
      handoff_failed_count: 0,
      handoff_skipped_count: 0,
      handoff_notice: expect.stringContaining('sluice migrate up --feature handoffs'),
    });
    const refused = await scrapes.call(claims, '/api/scraping/news/handoffs');
    expect(refused).toMatchObject({ status: 503, body: { code: 'handoffs_unavailable' } });
    expect(refused.body.detail).toContain('sluice migrate up --feature handoffs');
    const state = await readSchemaStateOf(database.db, await readMigrations());
    expect(() => assertUsable(state)).not.toThrow();
    expect(state.downFeatures).toEqual(['handoffs']);
  });

  test('existing jobs, runs of knowledge bases, lists and deletion still work', async () => {
    const claims = await scrapes.tenant();
    await scrapes.push(claims, [referenceNamed('a', 'Herons wait for fish.')]);
    await down();
    await scrapes.drive(claims.tenantId);
    expect(await scrapes.search(claims, 'herons')).toHaveLength(1);
    await scrapes.push(claims, [referenceNamed('b', 'Otters swim at night.')]);
    expect((await scrapes.call(claims, '/api/ingestion/jobs/kb/start', { method: 'POST' })).status).toBe(202);
    await scrapes.drive(claims.tenantId);
    const found = await scrapes.search(claims, 'otters swim');
    expect(found[0], 'a run of the whole knowledge base reads all references').toMatchObject({
      uri: 'https://example.com/b',
    });
    for (const route of ['references', 'runs']) {
      expect((await scrapes.call(claims, `/api/scraping/news/${route}`)).body.data).toHaveLength(2);
    }
    const [run] = (await scrapes.call(claims, '/api/scraping/news/runs')).body.data as {
      scrape_run_id: string;
    }[];
    const detail = await scrapes.call(claims, `/api/scraping/news/runs/${run?.scrape_run_id}`);
    expect(detail.body).toMatchObject({ handoffs: null, references_persisted: 1 });
    expect((await scrapes.call(claims, '/api/scraping/sources/news', { method: 'DELETE' })).status).toBe(204);
  });

  test('crawls store what they read', async () => {
    const claims = await scrapes.tenant();
    const site = await serveWebSite({ '/': { title: 'Home', links: ['/one'] }, '/one': { title: 'One' } });
    const body = { mode: 'crawl', kb_id: 'kb', url: site.url };
    await scrapes.call(claims, '/api/scraping/sources/site', { method: 'PUT', body });
    await down();
    const started = await scrapes.sync(claims, undefined, 'site');
    await scrapes.drive(claims.tenantId);
    const run = await scrapes.call(claims, String(started.headers.get('location')));
    expect(run.body).toMatchObject({
      status: 'completed',
      references_persisted: 2,
      handoff_queued_count: 0,
      handoff_notice: expect.stringContaining('taken down'),
    });
  });

  test('nothing comes back by itself, and after migrating up the next sync hands over', async () => {
    const claims = await scrapes.tenant();
    await down();
    await scrapes.push(claims, [referenceNamed('a', 'Herons wait for fish.')]);
    expect((await migrateUp(database.ownerUrl)).applied, 'the operator decided').toEqual([]);
    expect((await up()).applied).toEqual(['0011_handoffs']);
    expect(await scrapes.push(claims, [referenceNamed('a', 'Herons wait for fish.')])).toMatchObject({
      handoff_queued_count: 1,
      handoff_notice: null,
    });
    await scrapes.drive(claims.tenantId);
    expect((await scrapes.handoffs(claims)).map(({ status }) => status)).toEqual(['completed']);
    expect(await scrapes.search(claims, 'herons')).toHaveLength(1);
  });

  test('jobs continue when the feature is removed by hand as its plan describes', async () => {
    const claims = await scrapes.tenant();
    await scrapes.push(claims, [referenceNamed('a', 'Herons wait for fish.')]);
    await database.owner(`
      drop trigger if exists trg_update_ingestion_handoff_timestamp on ingestion_handoffs;
      drop table if exists ingestion_handoffs;
      drop function if exists update_ingestion_handoff_timestamp()`);
    await scrapes.drive(claims.tenantId);
    expect(await scrapes.search(claims, 'herons')).toHaveLength(1);
    await down();
  });

  test('`migrate up --feature` mends what was removed by hand as its plan describes', async () => {
    await up();
    const claims = await scrapes.tenant();
    await database.owner(`
      drop trigger if exists trg_update_ingestion_handoff_timestamp on ingestion_handoffs;
      drop table if exists ingestion_handoffs;
      drop function if exists update_ingestion_handoff_timestamp()`);
    expect((await up()).applied).toEqual(['0011_handoffs']);
    expect((await up()).applied).toEqual([]);
    await scrapes.push(claims, [referenceNamed('b', 'Terns dive for fish.')]);
    await scrapes.drive(claims.tenantId);
    expect((await scrapes.handoffs(claims)).map(({ status }) => status)).toEqual(['completed']);
  });
});
