import { beforeAll, describe, expect, test } from 'vitest';
import { callOrThrow } from '../support/servers/api-caller.ts';
import { documentForm } from '../support/servers/knowledge-server.ts';
import type { TestClaims } from '../support/servers/server.ts';
import { useServerProcess } from '../support/servers/server-process.ts';
import { newTenant, useDatabase } from '../support/worlds/database.ts';
import { eventually } from '../support/worlds/kernel.ts';
import { makeCorpus, queryKinds } from './corpus.ts';
import { formats } from './documents.ts';
import { flattened, measureRecall, type Recall, resultsAskedFor, tableOf } from './recall.ts';

// Questions in other words than the documents, against a server as installed, with its own embedder.
const database = useDatabase();
const server = useServerProcess(database);
const corpus = makeCorpus();
/** The embedder needs about twenty seconds of one core for the corpus, and the core may be busy. */
const indexLimitMs = 300_000;

let claims: TestClaims;
const call = callOrThrow(server, () => claims);
let measured: Recall[] = [];

beforeAll(async () => {
  claims = { tenantId: await newTenant(database), role: 'admin' };
  const { kb_id: kbId } = await call('/api/knowledge', { name: 'Recall' });
  const files = Object.fromEntries(corpus.files.map(({ name, content }) => [name, content]));
  await call(`/api/knowledge/${kbId}/documents`, documentForm(files));
  await call(`/api/ingestion/jobs/${kbId}/start`, {});
  let run: Record<string, unknown> = {};
  const hasEnded = async () => {
    run = await call(`/api/ingestion/jobs/${kbId}/status`);
    return run.status !== 'running';
  };
  await eventually(hasEnded, 'the corpus is indexed', indexLimitMs);
  expect(run).toMatchObject({
    status: 'completed',
    counters: { docs_seen: corpus.files.length, docs_error: 0, chunks_error: 0 },
  });
  measured = await measureRecall(corpus.queries, async (query, mode) => {
    const limit = resultsAskedFor;
    const answer = await call(`/api/knowledge/${kbId}/search`, { query, mode, limit });
    return answer.results as { text: string }[];
  });
  console.table(tableOf(measured));
}, indexLimitMs + 120_000);

describe('the corpus', () => {
  test('has every format and every kind of query', () => {
    expect(corpus.files).toHaveLength(300);
    expect(new Set(corpus.files.map(({ name }) => name.split('.').at(-1)))).toEqual(new Set(formats));
    const counts = queryKinds.map((kind) => corpus.queries.filter((query) => query.kind === kind).length);
    expect(counts).toEqual([50, 50, 20]);
  });

  test('has every answer in exactly one document', async () => {
    const documents = await database.owner<{ uri: string; text: string }>(
      `select d.uri, string_agg(e.text, ' ' order by l.ordinal) as text
         from knowledge_documents d
         join knowledge_links l using (tenant_id, kb_id, document_id, revision)
         join embeddings_index e using (tenant_id, kb_id, chunk_id)
        where d.tenant_id = $1
        group by d.uri`,
      [claims.tenantId],
    );
    for (const { answer, file } of corpus.queries) {
      const holders = documents.filter(({ text }) => flattened(text).includes(flattened(answer)));
      expect(
        holders.map(({ uri }) => uri),
        answer,
      ).toEqual([`file:${file}`]);
    }
  });
});

describe('a hybrid search', () => {
  test.each([
    { kind: 'question', what: 'what is asked by somebody who knows the subject', least: [0.9, 0.98] },
    // What the embedder can do with no word to go by, among others that are about the same: a floor and no promise.
    { kind: 'paraphrase', what: 'most of what is asked in other words', least: [0.75, 0.93] },
    { kind: 'keyword', what: 'names and numbers', least: [0.9, 0.98] },
  ] as const)('finds $what', ({ kind, least }) => {
    const { first, amongFive, missed } = recallOf('hybrid', kind);
    expect(first).toBeGreaterThanOrEqual(least[0]);
    expect(amongFive, `missed: ${missed.join(' | ')}`).toBeGreaterThanOrEqual(least[1]);
  });

  test('finds by words what a search by meaning misses, and the other way round', () => {
    const shareFound = (mode: Recall['mode'], kind: Recall['kind']) => recallOf(mode, kind).amongFive;
    expect(shareFound('hybrid', 'keyword')).toBeGreaterThan(shareFound('vector', 'keyword'));
    expect(shareFound('hybrid', 'paraphrase')).toBeGreaterThan(shareFound('text', 'paraphrase'));
    expect(shareFound('hybrid', 'paraphrase')).toBeGreaterThanOrEqual(shareFound('vector', 'paraphrase'));
  });
});

function recallOf(mode: Recall['mode'], kind: Recall['kind']): Recall {
  const found = measured.find((each) => each.mode === mode && each.kind === kind);
  if (!found) throw new Error(`Nothing was measured for ${mode} and ${kind}`);
  return found;
}
