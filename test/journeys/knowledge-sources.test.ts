import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { serveSite } from '../support/fakes/local-site.ts';
import { manualPages, serveWebSite } from '../support/fakes/site.ts';
import {
  useKnowledge,
  wordDimensions,
  wordEmbedder,
  wordVector,
} from '../support/servers/knowledge-server.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { secretsHere } from '../support/worlds/secrets.ts';

// Each kind of source and each kind of embedder against a real peer on this machine.
const root = mkdtempSync(path.join(tmpdir(), 'sluice-folder-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const database = useDatabase();
const words = wordEmbedder();
const knowledge = useKnowledge(database, {
  customEmbedders: [words.definition],
  knowledgeFolderRoot: root,
  secrets: secretsHere((name) => `the key under ${name}`),
});

type Claims = TestClaims & { tenantId: string };
type Row = Record<string, unknown>;

async function newKb(body: object): Promise<{ claims: Claims; kbId: string }> {
  const claims: Claims = { tenantId: await newTenant(database), role: 'admin' };
  const made = await knowledge.create(claims, { name: 'Site', embedder: words.embedder, ...body });
  expect(made.status, made.text).toBe(201);
  return { claims, kbId: String(made.body.kb_id) };
}

async function run({ claims, kbId }: { claims: Claims; kbId: string }): Promise<Row> {
  const started = await knowledge.start(claims, kbId);
  expect(started.status, started.text).toBe(202);
  await knowledge.drive(claims.tenantId);
  return knowledge.status(claims, kbId);
}

/** The documents with their states, by uri. */
async function documents({
  claims,
  kbId,
}: {
  claims: Claims;
  kbId: string;
}): Promise<Record<string, unknown>> {
  const { body } = await knowledge.call(claims, `/api/knowledge/${kbId}/documents?limit=500`);
  return Object.fromEntries((body.data as Row[]).map(({ uri, state }) => [uri, state]));
}

async function firstFound(kb: { claims: Claims; kbId: string }, query: string): Promise<Row | undefined> {
  const { body } = await knowledge.search(kb.claims, kb.kbId, { query, limit: 1 });
  return (body.results as Row[])[0];
}

describe('a web site', () => {
  test('is read as its robots.txt allows, reread only where it changed, and removed pages are removed', async () => {
    const site = await serveWebSite(manualPages);
    const kb = await newKb({ sources: [{ type: 'website', url: `${site.url}/`, max_pages: 50 }] });
    const first = await run(kb);
    expect(first).toMatchObject({ status: 'completed', counters: { chunks_error: 0 } });
    const pages = await documents(kb);
    for (const page of ['/', '/pump', '/motor', '/valve', '/spare-parts', '/notes.txt']) {
      expect({ page, state: pages[`${site.url}${page}`] }).toEqual({ page, state: 'indexed' });
    }
    expect(Object.keys(pages)).not.toContain(`${site.url}/draft`);
    expect(site.countOf('/private/keys')).toBe(0);
    expect(await firstFound(kb, 'check the oil of the pump once a month')).toMatchObject({
      document: { uri: `${site.url}/pump`, title: 'Pump' },
    });
    const before = words.calls.flat().length;
    site.pages.set('/valve', { title: 'Valve', text: 'The valve is now made of brass.', links: ['/pump'] });
    site.pages.delete('/spare-parts');
    site.pages.delete('/circle');
    site.pages.delete('/circle-2');
    await run(kb);
    expect(words.calls.flat().length - before).toBeLessThanOrEqual(2);
    expect(await firstFound(kb, 'valve made of brass')).toMatchObject({
      document: { uri: `${site.url}/valve` },
    });
    expect((await documents(kb))[`${site.url}/spare-parts`] ?? 'gone').toBe('gone');
  });

  test('loses no page that still responds while its start page has no links', async () => {
    const page = (text: string, links: string[] = []) => ({ title: text, text: `${text} is here.`, links });
    const home = page('Home', ['/one', '/two']);
    const site = await serveWebSite({ '/': home, '/one': page('One'), '/two': page('Two') });
    const kb = await newKb({ sources: [{ type: 'website', url: `${site.url}/`, max_pages: 50 }] });
    await run(kb);
    expect(Object.values(await documents(kb))).toEqual(['indexed', 'indexed', 'indexed']);
    site.pages.set('/', page('We are back soon'));
    site.pages.delete('/two');
    await run(kb);
    expect(await documents(kb)).toEqual({ [`${site.url}/`]: 'indexed', [`${site.url}/one`]: 'indexed' });
  });

  test('loses nothing that is indexed when it fails', async () => {
    const site = await serveWebSite(manualPages);
    const kb = await newKb({ sources: [{ type: 'website', url: `${site.url}/` }] });
    await run(kb);
    const before = await documents(kb);
    for (const page of ['/pump', '/motor']) site.pages.set(page, { status: 500 });
    expect(await run(kb)).toMatchObject({
      status: 'completed',
      incomplete_sources: [{ reason: expect.stringMatching(/\w+ \w+/) }],
    });
    expect(Object.keys(await documents(kb)).sort()).toEqual(Object.keys(before).sort());
    expect(await firstFound(kb, 'check the oil of the pump once a month')).toMatchObject({
      document: { uri: `${site.url}/pump` },
    });
  });
});

describe('a folder', () => {
  const homeOf = ({ claims }: { claims: Claims }) => path.join(root, claims.tenantId);

  test('is read with its subfolders, and deleted files are removed', async () => {
    const kb = await newKb({ sources: [{ type: 'folder', path: 'docs' }] });
    const home = homeOf(kb);
    mkdirSync(path.join(home, 'docs/deep'), { recursive: true });
    writeFileSync(path.join(home, 'docs/a.md'), '# A\n\nAlpha comes first.');
    writeFileSync(path.join(home, 'docs/deep/b.html'), '<h1>B</h1><p>Beta comes second, after alpha.</p>');
    writeFileSync(path.join(home, 'docs/c.vtt'), 'WEBVTT\n\n00:00.000 --> 00:02.000\nGamma is spoken.\n');
    expect(await run(kb)).toMatchObject({ status: 'completed', counters: { docs_seen: 3, docs_error: 0 } });
    expect(await firstFound(kb, 'gamma spoken')).toMatchObject({ document: { uri: 'file:c.vtt' } });
    rmSync(path.join(home, 'docs/deep/b.html'));
    expect(await run(kb)).toMatchObject({ counters: { docs_unchanged: 2, docs_gone: 1 } });
    const { body } = await knowledge.search(kb.claims, kb.kbId, { query: 'beta second', mode: 'text' });
    expect(body.results).toEqual([]);
  });

  test('is not read when it belongs to another tenant, and nothing indexed is lost', async () => {
    const kb = await newKb({ sources: [{ type: 'folder', path: 'mine' }] });
    const mine = path.join(homeOf(kb), 'mine');
    mkdirSync(mine, { recursive: true });
    writeFileSync(path.join(mine, 'a.md'), '# Mine\n\nMine alone.');
    await run(kb);
    const outside = `../../${path.basename(root)}/../etc`;
    for (const folder of ['mine', `../${kb.claims.tenantId}/mine`, `${kb.claims.tenantId}/mine`, outside]) {
      const stranger = await newKb({ sources: [{ type: 'folder', path: folder }] });
      mkdirSync(homeOf(stranger));
      expect(await run(stranger), folder).toMatchObject({
        counters: { docs_seen: 0 },
        incomplete_sources: [{ reason: expect.stringContaining('in the tenant’s folder') }],
      });
    }
    rmSync(mine, { recursive: true });
    await run(kb);
    expect(await firstFound(kb, 'mine alone')).toMatchObject({ text: expect.stringContaining('Mine alone') });
  });
});

describe('an embedder that speaks OpenAI’s language', () => {
  test('is called with the tenant’s key, waited for when it is busy, and pays only for what is new', async () => {
    const asked: { key: string | undefined; texts: string[] }[] = [];
    const provider = await serveSite('127.0.0.1', async (request, response) => {
      let text = '';
      for await (const chunk of request) text += chunk;
      const { input } = JSON.parse(text) as { input: string[] };
      asked.push({ key: request.headers.authorization, texts: input });
      if (asked.length === 1) {
        response.writeHead(429, { 'retry-after': '1', 'content-type': 'application/json' });
        return response.end('{"error":{"message":"slow down"}}');
      }
      const data = input.map((one, index) => ({ index, embedding: wordVector(one) }));
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ data }));
    });
    const kb = await newKb({
      embedder: {
        provider: 'openai',
        base_url: `http://127.0.0.1:${provider.port}/v1`,
        model: 'small',
        dimensions: wordDimensions,
        api_key_secret: 'provider_key',
        price_per_million_tokens: 2,
      },
      sources: [{ type: 'text', content: 'The quick brown fox jumps over the lazy dog.' }],
    });
    const place = `/api/knowledge/${kb.kbId}/plan`;
    const plan = (await knowledge.call(kb.claims, place)).body;
    expect(plan).toMatchObject({ documents: { new: 1, unchanged: 0 }, chunks: 1, is_complete: true });
    expect(plan.cost).toBeCloseTo((Number(plan.tokens) * 2) / 1_000_000, 9);
    expect(asked).toEqual([]);
    await knowledge.start(kb.claims, kb.kbId);
    await expect
      .poll(
        async () => {
          await knowledge.drive(kb.claims.tenantId, 2_000);
          return (await knowledge.status(kb.claims, kb.kbId)).status;
        },
        { timeout: 60_000, interval: 50 },
      )
      .toBe('completed');
    expect(asked.map(({ key }) => key)).toEqual(asked.map(() => 'Bearer the key under provider_key'));
    const calls = asked.length;
    expect(await firstFound(kb, 'brown fox')).toMatchObject({ text: expect.stringContaining('fox') });
    expect(asked.length).toBe(calls + 1);
    expect((await knowledge.call(kb.claims, place)).body).toMatchObject({
      documents: { new: 0, changed: 0, gone: 0, unchanged: 1 },
      chunks: 0,
      tokens: 0,
      cost: 0,
    });
    expect(await run(kb)).toMatchObject({ counters: { docs_unchanged: 1, tokens_embedded: 0 } });
    expect(asked.length).toBe(calls + 1);
  });

  test('fails the run when it refuses the key, with a reason that does not show the key', async () => {
    const provider = await serveSite('127.0.0.1', (_request, response) => {
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end('{"error":{"message":"Incorrect API key provided: the key under provider_key"}}');
    });
    const base = `http://127.0.0.1:${provider.port}/v1`;
    const kb = await newKb({
      embedder: {
        provider: 'openai',
        base_url: base,
        model: 'm',
        dimensions: 4,
        api_key_secret: 'provider_key',
      },
      sources: [{ type: 'text', content: 'Something.' }],
    });
    const status = await run(kb);
    expect(status.status).toBe('failed');
    expect(String(status.last_error)).toMatch(/key/i);
    expect(JSON.stringify(status)).not.toContain('the key under');
  });
});
