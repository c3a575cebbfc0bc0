import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { useKnowledge } from '../support/servers/knowledge-server.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

// Knowledge bases, their sources and files, as they are before any run.
const database = useDatabase();
const limits = {
  knowledgeMaxBases: 3,
  knowledgeMaxSources: 2,
  knowledgeMaxFiles: 4,
  knowledgeMaxFileBytes: 2_000,
};
const knowledge = useKnowledge(database, limits);

type Listed = Record<string, unknown>[];

async function admin(): Promise<TestClaims & { tenantId: string }> {
  return { tenantId: await newTenant(database), role: 'admin' };
}

async function newKb(claims: TestClaims, more: object = {}): Promise<string> {
  const made = await knowledge.create(claims, { name: 'Manual', ...more });
  expect(made.status, made.text).toBe(201);
  return String(made.body.kb_id);
}

const placeOf = (kbId: string) => `/api/knowledge/${encodeURIComponent(kbId)}`;

async function count(table: string, tenantId: string): Promise<number> {
  const [row] = await database.owner<{ n: number }>(
    `select count(*)::integer as n from ${table} where tenant_id = $1`,
    [tenantId],
  );
  return row?.n ?? -1;
}

describe('a knowledge base', () => {
  test('is created with a given or a generated id, and shows its settings', async () => {
    const claims = await admin();
    const made = await knowledge.create(claims, { kb_id: 'hand book/1', name: 'Handbook' });
    expect(made.status, made.text).toBe(201);
    expect(made.headers.get('location')).toBe('/api/knowledge/hand%20book%2F1');
    expect(made.body).toMatchObject({
      kb_id: 'hand book/1',
      name: 'Handbook',
      chunker: { strategy: 'markdown', max_tokens: 200, min_tokens: 24, context: 'headings' },
      language: 'english',
      embedder: { provider: 'local' },
      generation: 0,
      status: 'not_started',
      job_id: null,
      created_by: 'a-user',
    });
    const figures = { documents: { indexed: 0, empty: 0, error: 0, gone: 0 }, chunks: 0 };
    expect((await knowledge.call(claims, placeOf('hand book/1'))).body).toEqual({ ...made.body, ...figures });
    const other = await newKb(claims, {
      chunker: { strategy: 'fixed', max_tokens: 64 },
      embedder: { provider: 'openai', model: 'text-embedding-3-small', api_key_secret: 'openai' },
    });
    const { body } = await knowledge.call(claims, placeOf(other));
    expect(body).toMatchObject({
      chunker: { strategy: 'fixed', max_tokens: 64, overlap_tokens: 8 },
      embedder: {
        provider: 'openai',
        base_url: 'https://api.openai.com/v1',
        model: 'text-embedding-3-small',
        dimensions: null,
        api_key_secret: 'openai',
      },
    });
    const listed = (await knowledge.call(claims, '/api/knowledge')).body.data as Listed;
    expect(listed.map(({ kb_id: id }) => id).sort()).toEqual([other, 'hand book/1'].sort());
    const page = await knowledge.call(claims, '/api/knowledge?limit=1');
    expect(page.body).toMatchObject({ has_more: true });
    const next = await knowledge.call(claims, `/api/knowledge?limit=1&cursor=${page.body.next_cursor}`);
    expect([...(page.body.data as Listed), ...(next.body.data as Listed)]).toEqual(listed);
  });

  test('is created once per Idempotency-Key, and a taken id is a 409', async () => {
    const claims = await admin();
    const body = { kb_id: 'one', name: 'One' };
    const headers = { 'idempotency-key': randomUUID() };
    const first = await knowledge.call(claims, '/api/knowledge', { method: 'POST', body, headers });
    const second = await knowledge.call(claims, '/api/knowledge', { method: 'POST', body, headers });
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body).toEqual(first.body);
    expect(await knowledge.create(claims, body)).toMatchObject({
      status: 409,
      body: { code: 'knowledge_base_exists' },
    });
  });

  test('can change its name, chunker and embedder', async () => {
    const claims = await admin();
    const kbId = await newKb(claims);
    const body = { name: 'New', chunker: { strategy: 'recursive', max_tokens: 50 } };
    const changed = await knowledge.call(claims, placeOf(kbId), { method: 'PATCH', body });
    expect(changed).toMatchObject({ status: 200, body: { ...body, embedder: { provider: 'local' } } });
    const renamed = await knowledge.call(claims, placeOf(kbId), { method: 'PATCH', body: { name: 'Newer' } });
    expect(renamed.body).toMatchObject({ name: 'Newer', chunker: body.chunker });
  });

  test.each([
    { body: {}, status: 400 },
    { body: { name: '' }, status: 400 },
    { body: { name: 'a\u0000b' }, status: 400 },
    { body: { name: 'One', kb_id: 'a\u0007b' }, status: 400 },
    { body: { name: 'One', kb_id: '..' }, status: 400 },
    { body: { name: '  ' }, status: 400 },
    { body: { name: 'One', sources: [{ type: 'website', url: 'https://u:p@x/' }] }, status: 400 },
    {
      body: { name: 'One', embedder: { provider: 'openai', model: 'm', base_url: 'https://u:p@x' } },
      status: 400,
    },
    { body: { name: 'One', chunker: { strategy: 'guess' } }, status: 400 },
    {
      body: { name: 'One', chunker: { strategy: 'fixed', max_tokens: 50, overlap_tokens: 26 } },
      status: 400,
    },
    { body: { name: 'One', embedder: { provider: 'openai' } }, status: 400 },
    { body: { name: 'One', embedder: { provider: 'openai', model: 'm', base_url: 'ftp://x' } }, status: 400 },
    { body: { name: 'One', embedder: { provider: 'custom', name: 'nobody' } }, status: 422 },
    { body: { name: 'One', sources: [{ type: 'files' }] }, status: 400 },
    { body: { name: 'One', sources: [{ type: 'reference' }] }, status: 400 },
    { body: { name: 'One', sources: [{ type: 'markdown' }] }, status: 400 },
    { body: { name: 'One', sources: [{ type: 'website', url: 'example.com' }] }, status: 400 },
    {
      body: { name: 'One', sources: [{ type: 'website', url: 'https://x', max_pages: 10_001 }] },
      status: 400,
    },
    { body: { name: 'One', sources: [{ type: 'folder', path: 'docs' }] }, status: 422 },
  ])('is refused with $status as $body', async ({ body, status }) => {
    const claims = await admin();
    const refused = await knowledge.create(claims, body);
    expect({ status: refused.status, code: typeof refused.body.code }).toEqual({ status, code: 'string' });
    expect(await count('knowledge_bases', claims.tenantId)).toBe(0);
  });

  test('is refused at the limit of the tenant', async () => {
    const claims = await admin();
    for (const _ of [1, 2, 3]) await newKb(claims);
    expect(await knowledge.create(claims, { name: 'Four' })).toMatchObject({
      status: 422,
      body: { code: 'knowledge_limit_reached', limit: 3 },
    });
  });

  test('is deleted with everything in it, and its bytes', async () => {
    const claims = await admin();
    const kbId = await newKb(claims, { sources: [{ type: 'markdown', content: '# A' }] });
    const before = knowledge.storedFiles().length;
    await knowledge.upload(claims, kbId, { 'a.md': 'A', 'b.md': 'B' });
    expect(knowledge.storedFiles().length).toBe(before + 2);
    const gone = await knowledge.call(claims, placeOf(kbId), { method: 'DELETE' });
    expect(gone).toMatchObject({ status: 204, text: '' });
    for (const table of ['knowledge_bases', 'knowledge_sources', 'knowledge_files', 'files']) {
      expect({ table, rows: await count(table, claims.tenantId) }).toEqual({ table, rows: 0 });
    }
    await expect.poll(() => knowledge.storedFiles().length).toBe(before);
    expect(await knowledge.call(claims, placeOf(kbId), { method: 'DELETE' })).toMatchObject({ status: 404 });
  });
});

describe('a source', () => {
  test('is added, listed without its text, shown with it, and deleted', async () => {
    const claims = await admin();
    const kbId = await newKb(claims);
    const route = `${placeOf(kbId)}/sources`;
    const text = { type: 'markdown', content: '# Hello', title: 'Greeting' };
    const made = await knowledge.call(claims, route, { method: 'POST', body: text });
    expect(made, made.text).toMatchObject({
      status: 201,
      body: { type: 'markdown', settings: { content: '# Hello', title: 'Greeting' } },
    });
    const site = { type: 'website', url: 'https://example.com/docs', exclude: ['/private'] };
    await knowledge.call(claims, route, { method: 'POST', body: site });
    const { body } = await knowledge.call(claims, route);
    expect(body.data).toMatchObject([
      { type: 'files', settings: {} },
      { type: 'markdown', settings: { title: 'Greeting', content_characters: 7 } },
      { type: 'website', settings: { url: site.url, max_pages: 500, max_depth: 5, exclude: ['/private'] } },
    ]);
    expect(JSON.stringify(body)).not.toContain('# Hello');
    const place = made.headers.get('location') ?? '';
    expect((await knowledge.call(claims, place)).body).toEqual(made.body);
    expect(await knowledge.call(claims, place, { method: 'DELETE' })).toMatchObject({ status: 204 });
    expect(await knowledge.call(claims, place)).toMatchObject({
      status: 404,
      body: { code: 'knowledge_source_not_found' },
    });
  });

  test('always exists for files', async () => {
    const claims = await admin();
    const kbId = await newKb(claims);
    const [files] = (await knowledge.call(claims, `${placeOf(kbId)}/sources`)).body.data as Listed;
    const place = `${placeOf(kbId)}/sources/${files?.source_id}`;
    expect(await knowledge.call(claims, place, { method: 'DELETE' })).toMatchObject({
      status: 422,
      body: { code: 'knowledge_source_fixed' },
    });
  });

  test('is refused at the limit of the knowledge base', async () => {
    const claims = await admin();
    const source = { type: 'text', content: 'A' };
    const refused = { status: 422, body: { code: 'knowledge_limit_reached', limit: 2 } };
    expect(await knowledge.create(claims, { name: 'One', sources: [source, source, source] })).toMatchObject(
      refused,
    );
    const kbId = await newKb(claims, { sources: [source, source] });
    const again = await knowledge.call(claims, `${placeOf(kbId)}/sources`, { method: 'POST', body: source });
    expect(again).toMatchObject(refused);
    expect(await count('knowledge_sources', claims.tenantId)).toBe(3);
  });
});

describe('files', () => {
  test('are added by a form, and one with a known name replaces the earlier one', async () => {
    const claims = await admin();
    const kbId = await newKb(claims);
    const before = knowledge.storedFiles().length;
    const made = await knowledge.upload(claims, kbId, { 'b.md': '# B', 'sub/a.txt': 'A' });
    expect(made.status, made.text).toBe(201);
    expect(made.body.files).toMatchObject([
      { name: 'b.md', uri: 'file:b.md', size_bytes: 3 },
      { name: 'sub/a.txt', uri: 'file:sub/a.txt', size_bytes: 1 },
    ]);
    await knowledge.upload(claims, kbId, { 'b.md': '# B, once more' });
    const { body } = await knowledge.call(claims, `${placeOf(kbId)}/files`);
    expect(body.data).toMatchObject([{ name: 'b.md', size_bytes: 14 }, { name: 'sub/a.txt' }]);
    await expect.poll(() => knowledge.storedFiles().length).toBe(before + 2);
    expect(await count('files', claims.tenantId)).toBe(2);
  });

  test('are added once per Idempotency-Key', async () => {
    const claims = await admin();
    const kbId = await newKb(claims);
    const before = knowledge.storedFiles().length;
    const headers = { 'idempotency-key': randomUUID() };
    const first = await knowledge.upload(claims, kbId, { 'a.md': 'A' }, headers);
    const second = await knowledge.upload(claims, kbId, { 'a.md': 'A' }, headers);
    expect(second).toMatchObject({ status: 201, body: first.body });
    const other = await knowledge.upload(claims, kbId, { 'a.md': 'B' }, headers);
    expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } });
    expect(knowledge.storedFiles().length).toBe(before + 1);
  });

  test('are deleted by the id that they were given', async () => {
    const claims = await admin();
    const kbId = await newKb(claims);
    const made = await knowledge.upload(claims, kbId, { 'a.md': 'A' });
    const [file] = made.body.files as Listed;
    const place = `${placeOf(kbId)}/documents/${file?.file_id}`;
    expect(await knowledge.call(claims, place, { method: 'DELETE' })).toMatchObject({ status: 204 });
    expect(await knowledge.call(claims, place, { method: 'DELETE' })).toMatchObject({
      status: 404,
      body: { code: 'knowledge_document_not_found' },
    });
    expect(await count('files', claims.tenantId)).toBe(0);
  });

  test.each([
    { files: { 'a.md': 'A', 'b.md': 'x'.repeat(2_001) }, status: 413, code: 'knowledge_file_too_large' },
    { files: {}, status: 400, code: 'knowledge_file_missing' },
    { files: { '../a.md': 'A' }, status: 400, code: 'knowledge_form_invalid' },
    { files: { [`${'字'.repeat(400)}.md`]: 'A' }, status: 400, code: 'knowledge_form_invalid' },
    { files: { 'a.md': '1', b: '2', c: '3', d: '4', e: '5' }, status: 422, code: 'knowledge_limit_reached' },
  ])('leave nothing behind when they are refused: $code', async ({ files, status, code }) => {
    const claims = await admin();
    const kbId = await newKb(claims);
    const before = knowledge.storedFiles();
    const given = files as Record<string, string>;
    expect(await knowledge.upload(claims, kbId, given)).toMatchObject({ status, body: { code } });
    expect(knowledge.storedFiles()).toEqual(before);
    expect(await count('knowledge_files', claims.tenantId)).toBe(0);
  });
});

test('members can read and search but change nothing; a service may do everything', async () => {
  const claims = await admin();
  const kbId = await newKb(claims);
  const member: TestClaims = { ...claims, role: 'member', userId: 'm' };
  const place = placeOf(kbId);
  for (const route of ['/api/knowledge', place, `${place}/sources`, `${place}/files`, `${place}/documents`]) {
    expect({ route, status: (await knowledge.call(member, route)).status }).toEqual({ route, status: 200 });
  }
  expect(await knowledge.search(member, kbId, { query: 'x' })).toMatchObject({
    status: 200,
    body: { results: [] },
  });
  expect(await knowledge.status(member, kbId)).toMatchObject({ status: 'not_started', job_id: null });
  const refused = [
    knowledge.create(member, { name: 'Mine' }),
    knowledge.upload(member, kbId, { 'a.md': 'A' }),
    knowledge.start(member, kbId),
    knowledge.move(member, kbId, 'cancel'),
    knowledge.call(member, place, { method: 'DELETE' }),
    knowledge.call(member, `${place}/sources`, { method: 'POST', body: { type: 'text', content: 'A' } }),
  ];
  expect((await Promise.all(refused)).map(({ status }) => status)).toEqual(refused.map(() => 403));
  const service: TestClaims = { ...claims, role: 'service', userId: 's' };
  const own = await newKb(service);
  expect(await knowledge.upload(service, own, { 'a.md': 'A' })).toMatchObject({ status: 201 });
  expect(await knowledge.call(service, placeOf(own), { method: 'DELETE' })).toMatchObject({ status: 204 });
});

test('a missing thing, or another tenant’s, is a 404 with a code', async () => {
  const claims = await admin();
  const kbId = await newKb(claims);
  const stranger = await admin();
  for (const place of [placeOf(kbId), placeOf('nothing')]) {
    for (const part of ['', '/sources', '/files', '/documents', '/plan']) {
      const { status, body } = await knowledge.call(stranger, `${place}${part}`);
      expect({ part, status, code: body.code }).toEqual({
        part,
        status: 404,
        code: 'knowledge_base_not_found',
      });
    }
  }
  expect(await knowledge.search(stranger, kbId, { query: 'x' })).toMatchObject({ status: 404 });
  expect(await knowledge.start(stranger, kbId)).toMatchObject({ status: 404 });
  expect(await knowledge.status(stranger, kbId)).toMatchObject({ code: 'knowledge_base_not_found' });
  expect(await knowledge.status(stranger, randomUUID())).toMatchObject({ code: 'knowledge_base_not_found' });
  expect(await knowledge.upload(stranger, kbId, { 'a.md': 'A' })).toMatchObject({ status: 404 });
});
