import { describe, expect, test } from 'vitest';
import { type HandoffView, referenceNamed, useScrapes } from '../support/servers/scrape-server.ts';
import { useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const scrapes = useScrapes(database, {
  scrapeMaxReferences: 50,
  scrapeMaxBodyBytes: 100_000,
  scrapeMaxSources: 3,
});

type Claims = Awaited<ReturnType<typeof scrapes.tenant>>;

const named = (count: number) => Array.from({ length: count }, (_, at) => referenceNamed(`r${at}`));

async function codeOf(answer: ReturnType<typeof scrapes.call>): Promise<string> {
  const { status, body } = await answer;
  return `${status} ${body.code ?? ''}`.trim();
}

function put(claims: Claims, source: string, body: object) {
  return scrapes.call(claims, `/api/scraping/sources/${source}`, { method: 'PUT', body });
}

describe('the list of hand-offs', () => {
  test('has numbered pages with a total, pages by cursor, and filters', async () => {
    const claims = await scrapes.tenant();
    const first = await scrapes.push(claims, named(5));
    await scrapes.drive(claims.tenantId);
    const second = await scrapes.push(claims, [...named(5), referenceNamed('new'), referenceNamed('newer')]);
    const page = async (query: string) => {
      const { body } = await scrapes.call(claims, `/api/scraping/news/handoffs?${query}`);
      const {
        data,
        total,
        next_cursor: next,
      } = body as { data: HandoffView[]; total: number; next_cursor: string };
      return { ids: data.map((row) => row.handoff_id), data, total, next };
    };
    const all = await page('limit=100');
    expect(all).toMatchObject({ total: 7, next: null });
    const byNumber = await Promise.all([0, 3, 6, 9].map((offset) => page(`limit=3&offset=${offset}`)));
    expect(byNumber.flatMap(({ ids }) => ids)).toEqual(all.ids);
    expect(byNumber.map(({ total }) => total)).toEqual([7, 7, 7, 7]);
    const [one, two] = [await page('limit=4'), await page(`limit=4&cursor=${(await page('limit=4')).next}`)];
    expect([...one.ids, ...two.ids]).toEqual(all.ids);
    expect((await page('status=queued')).total).toBe(2);
    expect((await page('status=completed')).total).toBe(5);
    expect((await page(`scrape_run_id=${second.scrape_run_id}`)).total).toBe(2);
    expect((await page(`scrape_run_id=${first.scrape_run_id}&status=completed`)).total).toBe(5);
    expect(await codeOf(scrapes.call(claims, '/api/scraping/news/handoffs?cursor=no'))).toBe(
      '400 invalid_cursor',
    );
    expect(await codeOf(scrapes.call(claims, '/api/scraping/news/handoffs?status=lost'))).toMatch(/^400/);
  });

  test('has the fields that clients rely on', async () => {
    const claims = await scrapes.tenant();
    await scrapes.push(claims, [referenceNamed('a')]);
    const [handoff] = await scrapes.handoffs(claims);
    const fields = 'handoff_id reference_id payload_hash status reason_code attempts job_id scrape_run_id';
    const names = [...fields.split(' '), 'created_at', 'updated_at'];
    expect(Object.keys(handoff ?? {})).toEqual(expect.arrayContaining(names));
  });
});

describe('a sync', () => {
  test('is done once per Idempotency-Key', async () => {
    const claims = await scrapes.tenant();
    const headers = { 'idempotency-key': 'once' };
    const first = await scrapes.sync(claims, named(2), 'news', headers);
    const again = await scrapes.sync(claims, named(2), 'news', headers);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect((await scrapes.call(claims, '/api/scraping/news/runs')).body.data).toHaveLength(1);
    expect((await scrapes.sync(claims, named(3), 'news', headers)).status).toBe(422);
  });

  test('takes the last of several references with the same external id, and counts it once', async () => {
    const claims = await scrapes.tenant();
    const counts = await scrapes.push(claims, [referenceNamed('a', 'Old.'), referenceNamed('a', 'New.')]);
    expect(counts).toMatchObject({ references_persisted: 1, handoff_queued_count: 1 });
    await scrapes.drive(claims.tenantId);
    expect((await scrapes.search(claims, 'new')).map(({ text }) => text)).toEqual(['New.']);
  });

  test('is an empty run when it has no references', async () => {
    const claims = await scrapes.tenant();
    expect(await scrapes.push(claims, [])).toMatchObject({ references_persisted: 0, status: 'completed' });
  });

  test('keeps references with the same address apart', async () => {
    const claims = await scrapes.tenant();
    const url = 'https://example.com/board';
    await scrapes.push(claims, [
      { ...referenceNamed('post-1', 'Herons are here.'), url },
      { ...referenceNamed('post 2', 'Otters are gone.'), url },
    ]);
    await scrapes.drive(claims.tenantId);
    const uris = async () =>
      [...(await scrapes.search(claims, 'herons')), ...(await scrapes.search(claims, 'otters'))]
        .map(({ uri }) => uri)
        .filter((uri, at, every) => every.indexOf(uri) === at)
        .sort();
    // The older one has the bare address; of two that came together either may be it, but it stays so.
    const kept = await uris();
    expect([
      [url, `${url}#post-1`],
      [url, `${url}#post%202`],
    ]).toContainEqual(kept);
    await scrapes.call(claims, '/api/ingestion/jobs/kb/start', { method: 'POST' });
    await scrapes.drive(claims.tenantId);
    expect(await uris(), 'after a run of everything').toEqual(kept);
  });

  test('is refused when it is too large, invalid, or for an unknown source', async () => {
    const claims = await scrapes.tenant();
    const bad = (change: object) => codeOf(scrapes.sync(claims, [{ ...referenceNamed('a'), ...change }]));
    expect(await codeOf(scrapes.sync(claims, named(51)))).toMatch(/^400/);
    expect(await codeOf(scrapes.sync(claims, [referenceNamed('a', 'x'.repeat(100_001))]))).toMatch(/^413/);
    expect(await bad({ external_id: '' })).toMatch(/^400/);
    expect(await bad({ external_id: 'ä'.repeat(751) })).toMatch(/^400/);
    expect(await bad({ url: 'javascript:alert(1)' })).toMatch(/^400/);
    expect(await bad({ content: 'a\0b' })).toMatch(/^400/);
    expect(await bad({ metadata: { deep: ['\ud800'] } })).toMatch(/^400/);
    expect(await bad({ stranger: 1 })).toMatch(/^400/);
    expect(await codeOf(scrapes.sync(claims, named(1), 'no-such'))).toBe('404 scrape_source_not_found');
    expect(await codeOf(scrapes.sync(claims, undefined))).toBe('422 scrape_body_wrong');
    await put(claims, 'site', { mode: 'crawl', kb_id: 'kb', url: 'https://example.com' });
    expect(await codeOf(scrapes.sync(claims, named(1), 'site'))).toBe('422 scrape_body_wrong');
  });

  test('moves the metrics', async () => {
    const claims = await scrapes.tenant();
    const read = async () => (await scrapes.registry.metrics()).split('\n');
    const figure = async (name: string) =>
      Number(
        (await read())
          .find((line) => line.startsWith(`${name} `))
          ?.split(' ')
          .at(-1) ?? 0,
      );
    const queued = await figure('sluice_handoffs_total{outcome="queued"}');
    const skipped = await figure('sluice_handoffs_total{outcome="skipped"}');
    const created = await figure('sluice_scrape_references_total{outcome="created"}');
    const unchanged = await figure('sluice_scrape_references_total{outcome="unchanged"}');
    await scrapes.push(claims, named(3));
    await scrapes.push(claims, named(3));
    expect((await figure('sluice_handoffs_total{outcome="queued"}')) - queued).toBe(3);
    expect((await figure('sluice_handoffs_total{outcome="skipped"}')) - skipped).toBe(3);
    expect((await figure('sluice_scrape_references_total{outcome="created"}')) - created).toBe(3);
    expect((await figure('sluice_scrape_references_total{outcome="unchanged"}')) - unchanged).toBe(3);
  });
});

describe('a source', () => {
  test('is created, shown, changed and deleted with its references', async () => {
    const claims = await scrapes.tenant();
    const made = await put(claims, 'site', { mode: 'crawl', kb_id: 'kb', url: 'https://example.com/docs' });
    expect(made).toMatchObject({ status: 201, body: { kind: 'website', max_pages: 500, last_run: null } });
    const changed = await put(claims, 'site', { mode: 'push', kb_id: 'kb' });
    expect(changed).toMatchObject({ status: 200, body: { mode: 'push', kind: null, url: null } });
    await scrapes.push(claims, [referenceNamed('a', 'Herons.')], 'site');
    await scrapes.drive(claims.tenantId);
    const { body } = await scrapes.call(claims, '/api/scraping/sources');
    expect((body.data as { source: string }[]).map(({ source }) => source)).toEqual(['news', 'site']);
    expect(body.data).toMatchObject([{ last_run: null }, { last_run: { status: 'completed' } }]);
    expect((await scrapes.call(claims, '/api/scraping/sources/site', { method: 'DELETE' })).status).toBe(204);
    expect(await codeOf(scrapes.call(claims, '/api/scraping/sources/site'))).toBe(
      '404 scrape_source_not_found',
    );
    const left = await database.owner(
      `select from scrape_references where tenant_id = $1 union all
       select from ingestion_handoffs where tenant_id = $1`,
      [claims.tenantId],
    );
    expect(left).toEqual([]);
    await scrapes.call(claims, '/api/ingestion/jobs/kb/start', { method: 'POST' });
    await scrapes.drive(claims.tenantId);
    expect(await scrapes.search(claims, 'herons'), 'the next run takes them out of the index').toEqual([]);
  });

  test('is refused when its knowledge base is missing, its name or body is wrong, or there are too many', async () => {
    const claims = await scrapes.tenant();
    expect(await codeOf(put(claims, 'site', { mode: 'push', kb_id: 'none' }))).toBe('422 scrape_kb_missing');
    expect(await codeOf(put(claims, 'sources', { mode: 'push', kb_id: 'kb' }))).toMatch(/^400/);
    expect(await codeOf(put(claims, 'a%20b', { mode: 'push', kb_id: 'kb' }))).toMatch(/^400/);
    expect(await codeOf(put(claims, 'site', { mode: 'crawl', kb_id: 'kb' }))).toMatch(/^400/);
    expect(
      await codeOf(put(claims, 'site', { mode: 'push', kb_id: 'kb', url: 'https://a.example' })),
    ).toMatch(/^400/);
    for (const name of ['two', 'three'])
      expect((await put(claims, name, { mode: 'push', kb_id: 'kb' })).status).toBe(201);
    expect(await codeOf(put(claims, 'four', { mode: 'push', kb_id: 'kb' }))).toBe(
      '422 scrape_source_limit_reached',
    );
    expect((await put(claims, 'two', { mode: 'push', kb_id: 'kb' })).status).toBe(200);
  });

  test('is changed and synced by service and admin, and read by members', async () => {
    const { tenantId } = await scrapes.tenant();
    const as = (role: 'member' | 'admin' | 'support' | 'service') => ({
      tenantId,
      role,
      userId: `the-${role}`,
    });
    for (const [role, mayWrite] of [
      ['member', false],
      ['support', false],
      ['service', true],
      ['admin', true],
    ] as const) {
      const changed = await put(as(role), 'news', { mode: 'push', kb_id: 'kb' });
      const synced = await scrapes.sync(as(role), named(1));
      const seen = await scrapes.call(as(role), '/api/scraping/news/handoffs');
      const codes = [changed.status, synced.status, seen.status];
      expect(codes, role).toEqual(mayWrite ? [200, 200, 200] : [403, 403, 200]);
    }
  });
});

describe('upkeep', () => {
  const taskOf = (name: string) => {
    const task = scrapes.scrapes.tasks.find((one) => one.name === name);
    if (!task) throw new Error(`There is no task ${name}`);
    return task;
  };

  test('ends abandoned runs and no others', async () => {
    const claims = await scrapes.tenant();
    await scrapes.push(claims, named(1));
    const ids = await database.owner<{ scrape_run_id: string }>(
      `insert into scrape_runs (tenant_id, scrape_run_id, source, mode, created_by, updated_at)
       values ($1, gen_random_uuid(), 'news', 'push', 'me', now() - interval '1 hour'),
              ($1, gen_random_uuid(), 'news', 'push', 'me', now()) returning scrape_run_id`,
      [claims.tenantId],
    );
    expect(await taskOf('hand_over_left_references').run()).toMatchObject({ runs_ended: 1 });
    const states = await Promise.all(
      ids.map(
        async ({ scrape_run_id: id }) => (await scrapes.call(claims, `/api/scraping/news/runs/${id}`)).body,
      ),
    );
    expect(states).toMatchObject([
      { status: 'failed', error_code: 'scrape_run_abandoned' },
      { status: 'running' },
    ]);
  });

  test('deletes old runs and old payloads, but not the latest hand-off of a reference', async () => {
    const claims = await scrapes.tenant();
    for (const text of ['One.', 'Two.']) {
      await scrapes.push(claims, [referenceNamed('a', text)]);
      await scrapes.drive(claims.tenantId);
    }
    // The trigger would keep the time fresh.
    await database.owner(
      `alter table ingestion_handoffs disable trigger trg_update_ingestion_handoff_timestamp`,
    );
    await database.owner(
      `update ingestion_handoffs set updated_at = now() - interval '1 year' where tenant_id = '${claims.tenantId}'`,
    );
    await database.owner(
      `alter table ingestion_handoffs enable trigger trg_update_ingestion_handoff_timestamp`,
    );
    await database.owner(
      `update scrape_runs set finished_at = now() - interval '1 year' where tenant_id = $1`,
      [claims.tenantId],
    );
    await database.owner(
      `update knowledge_bases set created_at = now() - interval '2 years' where tenant_id = $1`,
      [claims.tenantId],
    );
    expect(await taskOf('purge_scrapes').run()).toMatchObject({ runs: 2, handoffs: 1 });
    expect(await scrapes.handoffs(claims)).toHaveLength(1);
    expect(await scrapes.push(claims, [referenceNamed('a', 'Two.')])).toMatchObject({
      handoff_skipped_count: 1,
    });
    expect(await scrapes.push(claims, [referenceNamed('a', 'One.')])).toMatchObject({
      handoff_queued_count: 1,
    });
  });
});
