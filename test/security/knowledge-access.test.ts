import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { apiCaller } from '../support/servers/api-caller.ts';
import { documentForm, useKnowledge, wordEmbedder } from '../support/servers/knowledge-server.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { useDatabase } from '../support/worlds/database.ts';

/** Who may see which document, from the API down to the rows. The ledger below decides, not the product. */
const database = useDatabase();
const words = wordEmbedder();
const folderRoot = mkdtempSync(path.join(tmpdir(), 'sluice-access-'));
afterAll(() => rmSync(folderRoot, { recursive: true, force: true }));
const knowledge = useKnowledge(database, {
  customEmbedders: [words.definition],
  knowledgeFolderRoot: folderRoot,
});

interface Row {
  uri: string;
  title: string;
  name: string;
  document_id: string;
  source_id: string;
  chunk_count: number;
}

/** What replies have in common, as far as it is looked at. */
interface Body {
  code: string;
  data: Row[];
  results: { document: { uri: string; metadata: object } }[];
  notes: string[];
  documents: { indexed: number };
  chunks: number;
  counters: { docs_seen: number };
}

const call = apiCaller<Body>(knowledge.server);
const search = (claims: TestClaims, body: object) =>
  call(claims, '/api/knowledge/kb/search', { method: 'POST', body });
const status = async (claims: TestClaims) => (await call(claims, '/api/ingestion/jobs/kb/status')).body;

interface Entry {
  /** A word that only this document has: in its text, its title and its name. */
  canary: string;
  /** Groups that may see it; null: everybody. */
  allow: string[] | null;
}

const rules = [
  { path_prefix: '', metadata: { team: 'all' } },
  { path_prefix: 'money/', allow: ['finance'], metadata: { team: 'finance' } },
];

async function world() {
  const tenantId = `tenant-${newId()}`;
  const admin: TestClaims = { tenantId, role: 'admin', userId: 'boss' };
  const ledger: Entry[] = [];
  const entry = (allow: string[] | null): string => {
    const canary = `canary${newId().replaceAll('-', '')}`;
    ledger.push({ canary, allow });
    return canary;
  };
  const text = (canary: string, front = '') =>
    `${front}# About ${canary}\n\nThe annual report of ${canary}.\n`;
  const ruled = entry(['finance']);
  const folder = path.join(folderRoot, tenantId, 'shared', 'money');
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, `${ruled}.md`), text(ruled));
  writeFileSync(path.join(folder, `${ruled}.pdf`), 'not a PDF');
  await knowledge.create(admin, {
    kb_id: 'kb',
    name: 'KB',
    embedder: words.embedder,
    sources: [{ type: 'folder', path: 'shared', rules }],
  });
  const upload = async (named: Record<string, string>, fields: Record<string, unknown> = {}) => {
    const form = documentForm(named);
    for (const [name, value] of Object.entries(fields)) form.append(name, JSON.stringify(value));
    const { status, body } = await call(admin, '/api/knowledge/kb/documents', {
      method: 'POST',
      body: form,
    });
    expect(status, JSON.stringify(body)).toBe(201);
  };
  const open = entry(null);
  await upload({ [`${open}.md`]: text(open) });
  const hr = entry(['hr']);
  await upload({ [`${hr}.md`]: text(hr) }, { metadata: { allow: ['hr'], team: 'hr' } });
  const both = entry(['hr', 'finance']);
  await upload({ [`${both}.md`]: text(both) }, { allow: ['hr', 'finance'] });
  const nobody = entry([]);
  await upload({ [`${nobody}.md`]: text(nobody) }, { allow: [] });
  const self = entry(['legal']);
  await upload({ [`${self}.md`]: text(self, '---\nallow: [legal]\nteam: legal\n---\n') });
  const opened = entry(null);
  await upload({ [`${opened}.md`]: text(opened, '---\nallow: [legal]\n---\n') }, { allow: ['*'] });
  await knowledge.start(admin, 'kb');
  await knowledge.drive(tenantId);
  expect(await status(admin)).toMatchObject({ status: 'completed' });
  return { tenantId, admin, ledger };
}

const seesAll = new Set(['admin', 'support', 'service', 'operator']);

function visible(ledger: readonly Entry[], { role = 'admin', groups = [] }: TestClaims): string[] {
  return ledger
    .filter(
      ({ allow }) => seesAll.has(role) || allow === null || allow.some((group) => groups.includes(group)),
    )
    .map(({ canary }) => canary);
}

const people: Omit<TestClaims, 'tenantId'>[] = [
  { role: 'member', userId: 'nobody' },
  { role: 'member', userId: 'star', groups: ['everyone', ''] },
  { role: 'member', userId: 'hr', groups: ['hr'] },
  { role: 'member', userId: 'finance', groups: ['finance', 'x'] },
  { role: 'member', userId: 'legal', groups: ['legal', 'hr'] },
  { role: 'support', userId: 'support' },
  { role: 'service', userId: 'service' },
  { role: 'admin', userId: 'admin' },
];

/** Everything that a role may read of the knowledge base, as text. */
async function readAll(claims: TestClaims): Promise<string> {
  const texts: string[] = [];
  const get = async (route: string) => {
    const { status, body } = await call(claims, route);
    texts.push(JSON.stringify(body));
    expect(status, route).toBe(200);
    return body;
  };
  const base = '/api/knowledge/kb';
  await get('/api/knowledge');
  await get(base);
  await get('/api/ingestion/jobs/kb/status');
  await get('/api/jobs');
  await get(`${base}/files?limit=100`);
  await get(`${base}/documents?limit=100&filter=${encodeURIComponent('{"team": {"exists": false}}')}`);
  const sources = await get(`${base}/sources`);
  for (const { source_id } of sources.data) await get(`${base}/sources/${source_id}`);
  const documents = await get(`${base}/documents?limit=100`);
  for (const { document_id } of documents.data) {
    await get(`${base}/documents/${document_id}`);
    await get(`${base}/documents/${document_id}/passages`);
  }
  for (const mode of ['text', 'vector', 'hybrid']) {
    const body = { query: 'annual report', limit: 50, mode, explain: true };
    texts.push(JSON.stringify((await search(claims, body)).body));
  }
  return texts.join('\n');
}

describe('documents with an access list', () => {
  test('show their titles, names and passages only to their groups, whichever route is asked', async () => {
    const { tenantId, ledger } = await world();
    for (const person of people) {
      const claims = { tenantId, ...person };
      const text = await readAll(claims);
      const seen = ledger.map(({ canary }) => canary).filter((canary) => text.includes(canary));
      expect(seen, JSON.stringify(person)).toEqual(visible(ledger, claims));
    }
  });

  test('are not counted for others', async () => {
    const { tenantId, admin, ledger } = await world();
    const { body } = await call(admin, '/api/knowledge/kb/documents?limit=100');
    for (const person of people) {
      const claims = { tenantId, ...person };
      const canaries = visible(ledger, claims);
      const expected = canaries.length;
      const chunks = body.data
        .filter(({ title }) => canaries.some((canary) => title.includes(canary)))
        .reduce((sum, { chunk_count }) => sum + chunk_count, 0);
      const { body: kb } = await call(claims, '/api/knowledge/kb');
      expect(kb.documents.indexed, JSON.stringify(person)).toBe(expected);
      expect(kb.chunks).toBe(chunks);
      const { counters } = await status(claims);
      expect(counters.docs_seen).toBe(expected === ledger.length ? ledger.length + 1 : 0);
    }
  });

  test('do not crowd out what a member may see', async () => {
    const tenantId = `tenant-${newId()}`;
    const admin: TestClaims = { tenantId, role: 'admin' };
    const secret = Array.from(
      { length: 400 },
      (_, n) => `# Budget ${n}\n\nBudget budget budget number ${n}.`,
    );
    await knowledge.create(admin, { kb_id: 'kb', name: 'KB', embedder: words.embedder });
    const form = documentForm(Object.fromEntries(secret.map((text, n) => [`secret${n}.md`, text])));
    form.append('allow', '["board"]');
    await call(admin, '/api/knowledge/kb/documents', { method: 'POST', body: form });
    await knowledge.upload(admin, 'kb', { 'open.md': 'A long text about many things and one budget.' });
    await knowledge.start(admin, 'kb');
    await knowledge.drive(tenantId);
    for (const mode of ['text', 'vector', 'hybrid']) {
      const found = await search({ tenantId, role: 'member' }, { query: 'budget', mode });
      expect(found.body.results.map(({ document }) => document.uri)).toEqual(['file:open.md']);
    }
  });

  test('change hands at once, also for a text that stays the same, and a run keeps it', async () => {
    const { tenantId, admin, ledger } = await world();
    const open = ledger[1]?.canary ?? '';
    const member: TestClaims = { tenantId, role: 'member', userId: 'm' };
    const sees = async () => (await readAll(member)).includes(open);
    expect(await sees()).toBe(true);
    const { body } = await call(admin, '/api/knowledge/kb/documents?limit=100');
    const document = body.data.find(({ uri }) => uri.includes(open));
    const change = (labels: object) =>
      call(admin, `/api/knowledge/kb/documents/${document?.document_id}`, {
        method: 'PATCH',
        body: labels,
      });
    expect((await change({ allow: ['hr'], metadata: { team: 'moved' } })).body).toMatchObject({
      allow: ['hr'],
      metadata: { team: 'moved', format: 'markdown' },
    });
    expect(await sees()).toBe(false);
    // A member who asks by id learns nothing, not even that it is there.
    const asked = await call(member, `/api/knowledge/kb/documents/${document?.document_id}`);
    expect(asked.status).toBe(404);
    const calls = words.calls.length;
    await knowledge.upload(admin, 'kb', { [`${open}.md`]: `# About ${open}\n\nThe new report of ${open}.` });
    await knowledge.start(admin, 'kb');
    await knowledge.drive(tenantId);
    expect(words.calls.length).toBe(calls + 1);
    expect(await sees()).toBe(false);
    expect((await readAll({ ...member, groups: ['hr'] })).includes('The new report')).toBe(true);
  });

  test('stay hidden when the index is rebuilt, and when the run of a change is canceled', async () => {
    const { tenantId, admin, ledger } = await world();
    await call(admin, '/api/knowledge/kb', {
      method: 'PATCH',
      body: { chunker: { strategy: 'fixed', max_tokens: 50 } },
    });
    await knowledge.start(admin, 'kb');
    await knowledge.drive(tenantId);
    const member: TestClaims = { tenantId, role: 'member', userId: 'm', groups: ['legal'] };
    const check = async () => {
      const text = await readAll(member);
      const seen = ledger.map(({ canary }) => canary).filter((canary) => text.includes(canary));
      expect(seen).toEqual(visible(ledger, member));
    };
    await check();
    // The front matter opens a document; then the run is canceled.
    const legal = ledger[5]?.canary ?? '';
    await knowledge.upload(admin, 'kb', { [`${legal}.md`]: `# About ${legal}\n\nNow for all.` });
    const other: TestClaims = { tenantId, role: 'member', userId: 'o' };
    expect((await readAll(other)).includes(legal)).toBe(false);
    await knowledge.start(admin, 'kb');
    words.hooks.onCall = async () => {
      await knowledge.move(admin, 'kb', 'cancel');
      words.hooks.onCall = () => {};
    };
    await knowledge.drive(tenantId);
    expect(await status(admin)).toMatchObject({ status: 'not_started' });
    expect((await readAll(other)).includes(legal)).toBe(false);
  });

  test('keep their list through a session of the console', async () => {
    const { tenantId, ledger } = await world();
    const token = await knowledge.server.token({ tenantId, role: 'member', userId: 's', groups: ['hr'] });
    const login = await fetch(`${knowledge.server.url}/api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token }),
    });
    const cookie = login.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    expect(cookie).not.toBe('');
    const listed = await fetch(`${knowledge.server.url}/api/knowledge/kb/documents?limit=100`, {
      headers: { cookie },
    });
    const text = await listed.text();
    const seen = ledger.map(({ canary }) => canary).filter((canary) => text.includes(canary));
    expect(seen).toEqual(visible(ledger, { tenantId, role: 'member', groups: ['hr'] }));
  });
});

describe('filters', () => {
  const uris = (found: { document: { uri: string } }[]) =>
    found.map(({ document }) => document.uri).toSorted();

  test('choose documents in searches, lists and deletions', async () => {
    const tenantId = `tenant-${newId()}`;
    const admin: TestClaims = { tenantId, role: 'admin' };
    await knowledge.create(admin, { kb_id: 'kb', name: 'KB', embedder: words.embedder });
    const years = [2021, 2022, 2023, 2024];
    for (const year of years) {
      const form = documentForm({ [`r${year}.md`]: `# Report\n\nThe report of the year ${year}.` });
      form.append('metadata', JSON.stringify({ year, tags: year % 2 ? ['odd'] : ['even', 'round'] }));
      await call(admin, '/api/knowledge/kb/documents', { method: 'POST', body: form });
    }
    await knowledge.start(admin, 'kb');
    await knowledge.drive(tenantId);
    const filtered = async (filter: object, mode = 'hybrid') =>
      (await search(admin, { query: 'the report', filter, mode })).body;
    for (const mode of ['text', 'vector', 'hybrid']) {
      const { results } = await filtered({ year: { gte: 2022, lt: 2024 } }, mode);
      expect(uris(results)).toEqual(['file:r2022.md', 'file:r2023.md']);
    }
    expect(uris((await filtered({ tags: 'even' })).results)).toEqual(['file:r2022.md', 'file:r2024.md']);
    expect((await filtered({ tags: 'even' })).results[0]?.document.metadata).toMatchObject({
      format: 'markdown',
    });
    expect((await filtered({ yaer: 2022 })).notes).toEqual([
      'No document has the field "yaer". Did you mean year?',
    ]);
    const refused = await search(admin, { query: 'x', filter: { year: { near: 3 } } });
    expect(refused).toMatchObject({ status: 422, body: { code: 'knowledge_filter_refused' } });
    const documents = (query: string, method = 'GET') =>
      call(admin, `/api/knowledge/kb/documents?filter=${encodeURIComponent(query)}`, { method });
    const { body: listed } = await documents('{"year": [2021, 2024]}');
    expect(listed.data.map(({ uri }) => uri).toSorted()).toEqual(['file:r2021.md', 'file:r2024.md']);
    expect(await documents('{"yaer": {"exists": false}}', 'DELETE')).toMatchObject({
      status: 422,
      body: { code: 'knowledge_filter_field_unknown' },
    });
    expect((await documents('not json')).status).toBe(422);
    const deleted = await documents('{"tags": "odd"}', 'DELETE');
    expect(deleted).toMatchObject({ status: 200, body: { deleted: 2, kept: 0, has_more: false } });
    const { body: files } = await call(admin, '/api/knowledge/kb/files');
    expect(files.data.map(({ name }) => name)).toEqual(['r2022.md', 'r2024.md']);
    expect(uris((await search(admin, { query: 'report' })).body.results)).toHaveLength(2);
  });

  test.each([
    ['a field that is an object', { metadata: { a: { b: 1 } } }],
    ['groups that are a text', { metadata: { allow: 'hr' } }],
    ['a name that is an operator', { metadata: { $or: 1 } }],
    ['too many fields', { metadata: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`f${n}`, n])) }],
    ['groups that are numbers', { allow: [1] }],
  ])('a form with %s is refused, and nothing is stored', async (_, fields) => {
    const tenantId = `tenant-${newId()}`;
    const admin: TestClaims = { tenantId, role: 'admin' };
    await knowledge.create(admin, { kb_id: 'kb', name: 'KB', embedder: words.embedder });
    const form = documentForm({ 'a.md': 'Text' });
    for (const [name, value] of Object.entries(fields)) form.append(name, JSON.stringify(value));
    const { status, body } = await call(admin, '/api/knowledge/kb/documents', {
      method: 'POST',
      body: form,
    });
    expect([status, body.code]).toEqual([400, 'knowledge_form_invalid']);
    expect((await call(admin, '/api/knowledge/kb/files')).body.data).toEqual([]);
  });
});
