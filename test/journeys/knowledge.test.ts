import { describe, expect, test } from 'vitest';
import { useKnowledge, wordEmbedder } from '../support/servers/knowledge-server.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';

// From a text to an answer, over HTTP.
const database = useDatabase();
const words = wordEmbedder();
const otherWords = wordEmbedder({ name: 'other-words', model: 'words-2' });
const knowledge = useKnowledge(database, { customEmbedders: [words.definition, otherWords.definition] });

type Claims = TestClaims & { tenantId: string };
type Found = { text: string; score: number; document: Record<string, string>; heading_path: string[] }[];

async function admin(): Promise<Claims> {
  return { tenantId: await newTenant(database), role: 'admin' };
}

const manual = `# Coffee machine

It makes coffee.

## Cleaning

Rinse the brewing unit every week with lukewarm water.

## Warranty

The manufacturer repairs defects for two years after the purchase.
`;

async function newKb(claims: Claims, more: object = {}): Promise<string> {
  const body = {
    name: 'Manual',
    embedder: words.embedder,
    chunker: { strategy: 'markdown', max_tokens: 40 },
  };
  const made = await knowledge.create(claims, { ...body, ...more });
  expect(made.status, made.text).toBe(201);
  return String(made.body.kb_id);
}

/** Starts a run, works until it has ended, and returns its status. */
async function run(claims: Claims, kbId: string): Promise<Record<string, unknown>> {
  const started = await knowledge.start(claims, kbId);
  expect(started.status, started.text).toBe(202);
  await knowledge.drive(claims.tenantId);
  return knowledge.status(claims, kbId);
}

async function find(claims: Claims, kbId: string, query: string, mode = 'hybrid'): Promise<Found> {
  const { body, status, text } = await knowledge.search(claims, kbId, { query, mode, limit: 3 });
  expect(status, text).toBe(200);
  return body.results as Found;
}

describe('a run', () => {
  test('makes a text findable, with its place in the document', async () => {
    const claims = await admin();
    const kbId = await newKb(claims, { sources: [{ type: 'markdown', content: manual, title: 'Manual' }] });
    const started = await knowledge.start(claims, kbId);
    expect(started).toMatchObject({ status: 202, body: { kb_id: kbId, status: 'running' } });
    expect(started.headers.get('location')).toBe(`/api/ingestion/jobs/${started.body.job_id}/status`);
    expect(await knowledge.status(claims, kbId)).toMatchObject({
      job_id: started.body.job_id,
      status: 'running',
      stalled: false,
      counters: { docs_seen: 0 },
    });
    await knowledge.drive(claims.tenantId);
    const status = await knowledge.status(claims, kbId);
    expect(status).toMatchObject({
      job_id: started.body.job_id,
      kb_id: kbId,
      status: 'completed',
      last_error: null,
      stalled: false,
      counters: { docs_seen: 1, docs_error: 0, chunks_skipped: 0, chunks_error: 0 },
      checkpoint: { last_batch_id: expect.any(Number), cursor: expect.anything() },
      started_at: expect.any(String),
      finished_at: expect.any(String),
      heartbeat_age_seconds: expect.any(Number),
    });
    const { chunks_seen: seen, chunks_processed: processed } = status.counters as Record<string, number>;
    expect(processed).toBe(seen);
    expect(processed).toBeGreaterThan(1);
    expect(status.docs_per_second).toBeGreaterThan(0);
    expect(status.chunks_per_second).toBeGreaterThan(0);
    expect(await knowledge.status(claims, String(started.body.job_id))).toEqual({
      ...status,
      heartbeat_age_seconds: expect.any(Number),
    });
    for (const mode of ['hybrid', 'vector', 'text']) {
      const [first] = await find(claims, kbId, 'how often to rinse the brewing unit', mode);
      expect(first?.text, mode).toContain('lukewarm water');
      expect(first?.heading_path).toEqual(['Coffee machine', 'Cleaning']);
      expect(first?.document).toMatchObject({ title: 'Manual', uri: 'inline:content' });
    }
    const { body } = await knowledge.call(claims, `/api/knowledge/${kbId}`);
    expect(body).toMatchObject({ status: 'completed', job_id: started.body.job_id, generation: 1 });
  });

  test('reads only changed documents and removes deleted ones', async () => {
    const claims = await admin();
    const kbId = await newKb(claims);
    await knowledge.upload(claims, kbId, {
      'a.md': manual,
      'b.txt': 'Tea is brewed with water of 95 degrees.',
    });
    expect(await run(claims, kbId)).toMatchObject({ status: 'completed', counters: { docs_seen: 2 } });
    const before = words.calls.length;
    const again = await run(claims, kbId);
    expect(again).toMatchObject({
      counters: { docs_seen: 2, docs_unchanged: 2, chunks_processed: 0, tokens_embedded: 0 },
    });
    expect(words.calls.length).toBe(before);
    await knowledge.upload(claims, kbId, { 'a.md': manual.replace('every week', 'every day') });
    const edited = await run(claims, kbId);
    const { chunks_processed: embedded } = edited.counters as Record<string, number>;
    expect(embedded).toBeGreaterThan(0);
    expect(embedded).toBeLessThanOrEqual(2);
    expect((await find(claims, kbId, 'rinse brewing unit'))[0]?.text).toContain('every day');
    const [tea] = await find(claims, kbId, 'tea degrees');
    const place = `/api/knowledge/${kbId}/documents/${tea?.document.document_id}`;
    expect((await knowledge.call(claims, place)).body).toMatchObject({ uri: 'file:b.txt', state: 'indexed' });
    expect(await knowledge.call(claims, place, { method: 'DELETE' })).toMatchObject({ status: 204 });
    const left = await find(claims, kbId, 'tea degrees', 'text');
    expect(left.map(({ document }) => document.uri)).not.toContain('file:b.txt');
    expect((await knowledge.call(claims, place)).status).toBe(404);
  });

  test('records the outcome of each document', async () => {
    const claims = await admin();
    const kbId = await newKb(claims);
    const broken = Buffer.from('%PDF-1.7\nthis is no PDF at all');
    await knowledge.upload(claims, kbId, {
      'good.md': '# Good\n\nA text.',
      'empty.md': '',
      'broken.pdf': broken,
    });
    const status = await run(claims, kbId);
    expect(status).toMatchObject({
      status: 'completed',
      counters: { docs_seen: 3, docs_empty: 1, docs_error: 1 },
    });
    expect((await knowledge.call(claims, `/api/knowledge/${kbId}`)).body).toMatchObject({
      documents: { indexed: 1, empty: 1, error: 1, gone: 0 },
      chunks: 1,
    });
    const route = `/api/knowledge/${kbId}/documents`;
    const { body } = await knowledge.call(claims, route);
    const states = (body.data as Record<string, unknown>[]).map(({ uri, state }) => [uri, state]);
    expect(Object.fromEntries(states)).toEqual({
      'file:good.md': 'indexed',
      'file:empty.md': 'empty',
      'file:broken.pdf': 'error',
    });
    const failed = (await knowledge.call(claims, `${route}?state=error`)).body.data as Record<
      string,
      unknown
    >[];
    expect(failed).toMatchObject([
      { uri: 'file:broken.pdf', error_code: expect.any(String), chunk_count: 0 },
    ]);
    expect(String(failed[0]?.error_text)).toMatch(/\w+ \w+/);
  });

  test('records what had to be repaired in a document, until the document is intact again', async () => {
    const claims = await admin();
    const kbId = await newKb(claims);
    await knowledge.upload(claims, kbId, { 'whole.md': 'A text.', 'torn.md': 'A\0 torn\0 text.' });
    await run(claims, kbId);
    const route = `/api/knowledge/${kbId}/documents`;
    const notes = async () => {
      const { data } = (await knowledge.call(claims, route)).body as { data: Record<string, unknown>[] };
      const told = data.map((document) => [document.uri, document.notes]);
      const [first] = data;
      const alone = await knowledge.call(claims, `${route}/${first?.document_id}`);
      expect(alone.body).toEqual(first);
      return Object.fromEntries(told);
    };
    expect(await notes()).toEqual({
      'file:whole.md': [],
      'file:torn.md': ['2 NUL characters were removed.'],
    });
    await knowledge.upload(claims, kbId, { 'torn.md': 'A mended text.' });
    await run(claims, kbId);
    expect(await notes()).toEqual({ 'file:whole.md': [], 'file:torn.md': [] });
  });

  test('rebuilds the index for another embedder while searches use the old one', async () => {
    const claims = await admin();
    const kbId = await newKb(claims, { sources: [{ type: 'text', content: 'The cat sleeps.' }] });
    await run(claims, kbId);
    const body = { embedder: otherWords.embedder };
    const route = `/api/knowledge/${kbId}`;
    expect(await knowledge.call(claims, route, { method: 'PATCH', body })).toMatchObject({ status: 200 });
    expect((await find(claims, kbId, 'cat'))[0]?.text).toContain('cat');
    await run(claims, kbId);
    expect((await knowledge.call(claims, route)).body).toMatchObject({ generation: 2 });
    const asked = otherWords.calls.length;
    expect((await find(claims, kbId, 'cat'))[0]?.text).toContain('cat');
    expect(otherWords.calls.length).toBe(asked + 1);
  });

  test('removes the documents of a deleted source from the index', async () => {
    const claims = await admin();
    const sources = [
      { type: 'text', content: 'Apples are red.' },
      { type: 'text', content: 'Pears are green.' },
    ];
    const kbId = await newKb(claims, { sources });
    await run(claims, kbId);
    const listed = (await knowledge.call(claims, `/api/knowledge/${kbId}/sources`)).body.data;
    const apples = (listed as Record<string, unknown>[])[1];
    const place = `/api/knowledge/${kbId}/sources/${apples?.source_id}`;
    expect(await knowledge.call(claims, place, { method: 'DELETE' })).toMatchObject({ status: 204 });
    expect(await run(claims, kbId)).toMatchObject({ status: 'completed' });
    const texts = (await find(claims, kbId, 'apples pears', 'text')).map(({ text }) => text);
    expect(texts).toEqual(['Pears are green.']);
  });
});
