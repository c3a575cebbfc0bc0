import { expect, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { eventually } from '../../../../test/support/worlds/kernel.ts';
import {
  type Kb,
  Shelf,
  sha256,
  TestEmbedder,
  useKnowledgeRuns,
} from '../../../../test/support/worlds/knowledge-runs.ts';
import type { LoadedDocument, Source } from '../sources/source.ts';

const database = useDatabase();
const runs = useKnowledgeRuns(database);

const referenceSource = 'ffffffff-0000-7000-8000-000000000001';
const references = new Map<string, string>();
const referenceId = (n: number) => `ffffffff-0000-7000-8000-00000000000${n}`;

/** The references that were handed over, or one of them. */
function referencesAs(only: string | null): Source {
  return {
    async *batches() {
      const wanted = [...references].filter(([name]) => only === null || name === only);
      const documents = wanted.map(([name, text]): LoadedDocument => {
        const contentHash = sha256(text);
        return { kind: 'text', uri: name, title: name, text, contentHash, mediaType: 'text/plain' };
      });
      yield { documents, cursor: {}, end: { isComplete: true } };
    },
  };
}

/** Links without a chunk or a document, chunks without a link, and links of another revision. */
async function findLooseEnds({ tenantId }: Kb): Promise<unknown> {
  const [row] = await database.owner(
    `select (select count(*)::integer from knowledge_links l
              where l.tenant_id = $1 and not exists (
                select from embeddings_index e where e.tenant_id = $1 and e.chunk_id = l.chunk_id)) as "no chunk",
            (select count(*)::integer from knowledge_links l
              where l.tenant_id = $1 and not exists (
                select from knowledge_documents d
                 where d.tenant_id = $1 and d.document_id = l.document_id
                   and d.revision = l.revision)) as "no document",
            (select count(*)::integer from embeddings_index e
              where e.tenant_id = $1 and not exists (
                select from knowledge_links l where l.tenant_id = $1 and l.chunk_id = e.chunk_id)) as "no link",
            (select count(*)::integer from knowledge_documents d
              where d.tenant_id = $1 and d.chunk_count <> (
                select count(*) from knowledge_links l
                 where l.tenant_id = $1 and l.document_id = d.document_id)) as "other count"`,
    [tenantId],
  );
  return row;
}

const nothing = { 'no chunk': 0, 'no document': 0, 'no link': 0, 'other count': 0 };

test('a run and runs of single references write one knowledge base at once, and nothing comes loose', async () => {
  const words = (n: number) => Array.from({ length: 6 }, (_, at) => `Shared ${(n + at) % 9}.`).join('\n\n');
  const shelf = new Shelf(Object.fromEntries([...'abcdefghij'].map((name, n) => [name, words(n)])));
  const kb = await runs.newKb(shelf);
  await database.owner(
    `insert into knowledge_sources (tenant_id, kb_id, source_id, type) values ($1, $2, $3, 'reference')`,
    [kb.tenantId, kb.kbId, referenceSource],
  );
  const openSource = (
    _kb: unknown,
    source: { type: string },
    { referenceId }: { referenceId: string | null },
  ) => (source.type === 'reference' ? referencesAs(referenceId) : shelf.open());
  const options = () => ({
    openSource,
    work: true,
    sliceMs: 0,
    embedder: new TestEmbedder({ textsPerCall: 2 }),
  });
  for (let round = 0; round < 3; round += 1) {
    for (const [at, name] of [...'abcdefghij'].entries()) shelf.put({ [name]: words(at + round * 2) });
    for (let n = 0; n < 5; n += 1) references.set(referenceId(n), words(n * 3 + round));
    const workers = [await runs.start(options()), await runs.start(options())];
    const jobs = [await runs.run(kb)];
    for (const one of references.keys()) jobs.push(await runs.runReference(kb, one));
    await eventually(
      async () => (await Promise.all(jobs.map(runs.job))).every(({ finished_at }) => finished_at !== null),
      'all of the runs have ended',
      60_000,
    );
    await Promise.all(workers.map(({ kernel }) => kernel.stop(1_000)));
    for (const job of jobs) {
      const { status, counters, error_message } = await runs.job(job);
      expect(status, error_message ?? '').toBe('success');
      const { chunks_seen, chunks_processed, chunks_skipped } = counters;
      expect(Number(chunks_processed) + Number(chunks_skipped)).toBe(chunks_seen);
    }
    expect(await findLooseEnds(kb)).toEqual(nothing);
    const { documents } = await runs.contents(kb);
    const wanted = [...shelf.documents, ...references].map(([uri, text]) => {
      return { uri, state: 'indexed', chunks: String(text).split('\n\n') };
    });
    expect(documents).toEqual(wanted.toSorted((a, b) => (a.uri < b.uri ? -1 : 1)));
  }
}, 240_000);

test('a run that is canceled takes nothing from the runs of references beside it', async () => {
  const kb = await runs.newKb(new Shelf({ a: 'One.\n\nShared.', b: 'Two.' }));
  await database.owner(
    `insert into knowledge_sources (tenant_id, kb_id, source_id, type) values ($1, $2, $3, 'reference')`,
    [kb.tenantId, kb.kbId, referenceSource],
  );
  references.clear();
  const first = await runs.start();
  await runs.run(kb);
  await first.kernel.cycle({ budgetMs: 20_000, tenantId: kb.tenantId });
  const before = await runs.contents(kb);
  kb.shelf.put({ a: 'Changed.\n\nNew and shared.\n\nNew alone.' });
  const stop = new AbortController();
  const dying = await runs.start({
    embedder: new TestEmbedder({ textsPerCall: 1 }),
    hooks: {
      after: async (count, { job }) => {
        if (count !== 5) return;
        references.set(referenceId(1), 'Shared.\n\nNew and shared.');
        await runs.cancel(job);
        stop.abort();
      },
    },
  });
  await runs.run(kb);
  await dying.kernel.cycle({ budgetMs: 20_000, tenantId: kb.tenantId, signal: stop.signal });
  expect(stop.signal.aborted).toBe(true);
  const reference = await runs.runReference(kb, referenceId(1));
  const second = await runs.start({
    openSource: (_kb, _source, { referenceId }) => referencesAs(referenceId),
  });
  await second.kernel.cycle({ budgetMs: 20_000, tenantId: kb.tenantId });
  expect(await runs.job(reference)).toMatchObject({ status: 'success', error_message: null });
  expect(await findLooseEnds(kb)).toEqual(nothing);
  expect((await runs.contents(kb)).documents).toEqual([
    ...before.documents,
    { uri: referenceId(1), state: 'indexed', chunks: ['Shared.', 'New and shared.'] },
  ]);
});
