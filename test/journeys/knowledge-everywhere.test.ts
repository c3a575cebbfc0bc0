import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { newId } from '../../src/lib/ids.ts';
import { apiCaller } from '../support/servers/api-caller.ts';
import { documentForm, useKnowledge, wordEmbedder } from '../support/servers/knowledge-server.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { useDatabase } from '../support/worlds/database.ts';

const database = useDatabase();
const words = wordEmbedder();
const other = wordEmbedder({ name: 'others', model: 'others-1' });
const knowledge = useKnowledge(database, { customEmbedders: [words.definition, other.definition] });

interface Found {
  score: number;
  base: { kb_id: string; name: string };
  document: { uri: string };
}
interface Body {
  code: string;
  results: Found[];
  facets: { field: string; values: { value: unknown; label: string; documents: number }[] }[];
  notes: string[];
  data: { filename: string; score: number }[];
  worse: { query: string }[];
  earlier: { generation: number } | null;
  generation: number;
  recall: number;
  ndcg: number;
  better: number;
}
const call = apiCaller<Body>(knowledge.server);
const post = (claims: TestClaims, route: string, body: object) =>
  call(claims, route, { method: 'POST', body });

async function base(
  admin: TestClaims,
  kbId: string,
  {
    files,
    fields = {},
    embedder = words.embedder,
  }: {
    files: Record<string, string>;
    fields?: Record<string, unknown>;
    embedder?: object;
  },
) {
  await knowledge.create(admin, { kb_id: kbId, name: `Base ${kbId}`, embedder });
  const form = documentForm(files);
  for (const [name, value] of Object.entries(fields)) form.append(name, JSON.stringify(value));
  await call(admin, `/api/knowledge/${kbId}/documents`, { method: 'POST', body: form });
  await knowledge.start(admin, kbId);
  await knowledge.drive(admin.tenantId);
}

const newAdmin = (): TestClaims => ({ tenantId: `tenant-${newId()}`, role: 'admin' });

describe('a search over all knowledge bases', () => {
  test('merges their results by score and counts documents by base, format and metadata', async () => {
    const admin = newAdmin();
    await base(admin, 'one', {
      files: { 'a.md': 'The pump needs oil.', 'b.txt': 'Pump, pump and pump.' },
      fields: { metadata: { team: ['service', 'sales'] } },
    });
    await base(admin, 'two', { files: { 'c.md': 'A pump.' }, fields: { metadata: { team: 'service' } } });
    const { body } = await post(admin, '/api/knowledge/search', { query: 'pump', facets: ['team', 'year'] });
    expect(body.results.map(({ document }) => document.uri).toSorted()).toEqual([
      'file:a.md',
      'file:b.txt',
      'file:c.md',
    ]);
    const scores = body.results.map(({ score }) => score);
    expect(scores).toEqual(scores.toSorted((one, next) => next - one));
    expect(body.facets).toEqual([
      {
        field: 'base',
        values: [
          { value: 'one', label: 'Base one', documents: 2 },
          { value: 'two', label: 'Base two', documents: 1 },
        ],
      },
      {
        field: 'format',
        values: [
          { value: 'markdown', label: 'markdown', documents: 2 },
          { value: 'text', label: 'text', documents: 1 },
        ],
      },
      {
        field: 'team',
        values: [
          { value: 'service', label: 'service', documents: 3 },
          { value: 'sales', label: 'sales', documents: 2 },
        ],
      },
      { field: 'year', values: [] },
    ]);
    const narrowed = { query: 'pump', kb_ids: ['one'], filter: { format: 'text' } };
    const found = (await post(admin, '/api/knowledge/search', narrowed)).body.results;
    expect(found.map(({ base: of, document }) => [of.name, document.uri])).toEqual([
      ['Base one', 'file:b.txt'],
    ]);
    expect((await post(admin, '/api/knowledge/search', { query: 'x', kb_ids: ['none'] })).status).toBe(404);
    expect((await post(admin, '/api/knowledge/search', { query: 'x', filter: { $x: 1 } })).status).toBe(422);
  });

  test('takes turns between embedders, and names a base that cannot be searched', async () => {
    const admin = newAdmin();
    await base(admin, 'one', { files: { 'a.md': 'pump one', 'b.md': 'pump two' } });
    await base(admin, 'two', { files: { 'c.md': 'pump three' }, embedder: other.embedder });
    const found = (await post(admin, '/api/knowledge/search', { query: 'pump' })).body.results;
    expect(new Set(found.slice(0, 2).map(({ base: of }) => of.kb_id))).toEqual(new Set(['one', 'two']));
    await database.owner(
      `update knowledge_generations set embedder = '{"provider": "custom", "name": "gone"}'
        where tenant_id = $1 and kb_id = 'two'`,
      [admin.tenantId],
    );
    const { body } = await post(admin, '/api/knowledge/search', { query: 'pump' });
    expect(body.results.map(({ base: of }) => of.kb_id)).toEqual(['one', 'one']);
    expect(body.notes).toEqual([expect.stringContaining('Base two could not be searched')]);
  });

  test('shows a member neither results nor counts of documents for other groups', async () => {
    const admin = newAdmin();
    await base(admin, 'one', { files: { 'a.md': 'pump for all' } });
    await base(admin, 'two', {
      files: { 'b.md': 'pump for hr' },
      fields: { allow: ['hr'], metadata: { team: 'hr' } },
    });
    const ask = async (groups: string[]) => {
      const claims: TestClaims = { tenantId: admin.tenantId, role: 'member', groups };
      return (await post(claims, '/api/knowledge/search', { query: 'pump', facets: ['team'] })).body;
    };
    const outside = await ask(['sales']);
    expect(outside.results.map(({ document }) => document.uri)).toEqual(['file:a.md']);
    expect(outside.facets.map(({ values }) => values.length)).toEqual([1, 1, 0]);
    expect((await ask(['hr'])).results).toHaveLength(2);
  });
});

/** As OpenAI's API document describes the page, with its limits. */
const publishedPage = z.strictObject({
  object: z.literal('vector_store.search_results.page'),
  search_query: z.array(z.string()).min(1),
  data: z.array(
    z.strictObject({
      file_id: z.string(),
      filename: z.string(),
      score: z.number().min(0).max(1),
      attributes: z
        .record(z.string().max(64), z.union([z.string().max(512), z.number(), z.boolean()]))
        .refine((pairs) => Object.keys(pairs).length <= 16)
        .nullable(),
      content: z.array(z.strictObject({ type: z.enum(['text']), text: z.string() })),
    }),
  ),
  has_more: z.boolean(),
  next_page: z.string().nullable(),
});

describe('a knowledge base as a vector store', () => {
  test('returns the page that OpenAI’s API document describes', async () => {
    const admin = newAdmin();
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`field${n}`, 'x'.repeat(900)]));
    await base(admin, 'kb', {
      files: { 'a.md': 'pump oil pump oil', 'b.md': 'pump valve' },
      fields: { metadata: { ...many, tags: ['a', 'b'] } },
    });
    const search = (body: object) => post(admin, '/v1/vector_stores/kb/search', body);
    const { body } = await search({ query: 'pump oil', rewrite_query: true });
    expect(publishedPage.safeParse(body).error).toBeUndefined();
    expect(body.data.map(({ filename }) => filename)).toEqual(['a.md', 'b.md']);
    const two = await search({ query: ['pump', 'valve'], max_num_results: 1 });
    expect(publishedPage.parse(two.body).search_query).toEqual(['pump', 'valve']);
    expect(two.body.data).toHaveLength(1);
    const strict = await search({
      query: 'pump oil',
      ranking_options: { ranker: 'auto', score_threshold: 0.9 },
    });
    expect(strict.body.data.every(({ score }) => score >= 0.9)).toBe(true);
    const missing = await post(admin, '/v1/vector_stores/none/search', { query: 'x' });
    expect(missing).toMatchObject({
      status: 404,
      body: {
        code: 'knowledge_base_not_found',
        error: {
          message: 'There is no knowledge base none',
          type: 'invalid_request_error',
          param: null,
          code: 'knowledge_base_not_found',
        },
      },
    });
  });

  test.each([
    [{ type: 'eq', key: 'year', value: 2021 }, ['y2021.md']],
    [{ type: 'ne', key: 'year', value: 2021 }, ['y2022.md', 'y2023.md']],
    [{ type: 'in', key: 'year', value: [2021, 2023] }, ['y2021.md', 'y2023.md']],
    [{ type: 'nin', key: 'year', value: [2021, 2023] }, ['y2022.md']],
    [{ type: 'gte', key: 'year', value: 2022 }, ['y2022.md', 'y2023.md']],
    [
      {
        type: 'and',
        filters: [
          { type: 'gt', key: 'year', value: 2021 },
          { type: 'or', filters: [{ type: 'lt', key: 'year', value: 2023 }] },
        ],
      },
      ['y2022.md'],
    ],
  ])('takes the filter %j', async (filters, expected) => {
    const { body } = await post(await yearly(), '/v1/vector_stores/years/search', {
      query: 'report',
      filters,
    });
    expect(body.data.map(({ filename }) => filename).toSorted()).toEqual(expected);
  });

  test('refuses a filter of another form', async () => {
    for (const filters of [
      { year: 2021 },
      { type: 'like', key: 'a', value: 'b' },
      { type: 'and', filters: 3 },
    ]) {
      const { status, body } = await post(await yearly(), '/v1/vector_stores/years/search', {
        query: 'x',
        filters,
      });
      expect([status, body.code]).toEqual([422, 'knowledge_filter_refused']);
    }
  });
});

let years: Promise<TestClaims> | null = null;
function yearly(): Promise<TestClaims> {
  years ??= (async () => {
    const admin = newAdmin();
    await knowledge.create(admin, { kb_id: 'years', name: 'Years', embedder: words.embedder });
    for (const year of [2021, 2022, 2023]) {
      const form = documentForm({ [`y${year}.md`]: `Report ${year}` });
      form.append('metadata', JSON.stringify({ year }));
      await call(admin, '/api/knowledge/years/documents', { method: 'POST', body: form });
    }
    await knowledge.start(admin, 'years');
    await knowledge.drive(admin.tenantId);
    return admin;
  })();
  return years;
}

describe('an evaluation', () => {
  test('scores questions with known answers and says what got worse since the last build', async () => {
    const admin = newAdmin();
    await base(admin, 'kb', { files: { 'a.md': 'the red pump', 'b.md': 'the blue valve' } });
    const questions = [
      { query: 'red pump', relevant: ['file:a.md'] },
      { query: 'blue valve', relevant: [{ uri: 'file:b.md', grade: 2 }] },
      { query: 'green door', relevant: ['file:none.md'] },
    ];
    const run = () => post(admin, '/api/knowledge/kb/evaluations', { questions, k: 1 });
    const first = await run();
    expect(first.status).toBe(201);
    expect(first.body).toMatchObject({ generation: 1, earlier: null, worse: [], better: 0 });
    expect(first.body.recall).toBeCloseTo(2 / 3);
    // The next build has another text in place of the second document.
    await knowledge.upload(admin, 'kb', { 'b.md': 'nothing of the kind', 'c.md': 'blue valve' });
    await call(admin, '/api/knowledge/kb', {
      method: 'PATCH',
      body: { chunker: { strategy: 'fixed', max_tokens: 60 } },
    });
    await knowledge.start(admin, 'kb');
    await knowledge.drive(admin.tenantId);
    const second = await run();
    expect(second.body).toMatchObject({ generation: 2, earlier: { generation: 1 }, better: 0 });
    expect(second.body.worse.map(({ query }) => query)).toEqual(['blue valve']);
    const { body: list } = await call(admin, '/api/knowledge/kb/evaluations');
    expect(list.data).toHaveLength(2);
    const refused = await post(admin, '/api/knowledge/kb/evaluations', { questions: [] });
    expect(refused.status).toBe(400);
  });
});
