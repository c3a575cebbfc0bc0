import { expect, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import {
  realChunker,
  Shelf,
  TestEmbedder,
  useKnowledgeRuns,
} from '../../../../test/support/worlds/knowledge-runs.ts';

const database = useDatabase();
const runs = useKnowledgeRuns(database);
const budgetMs = 20_000;

test('a run puts documents, chunks and vectors in, and counts them', async () => {
  const shelf = new Shelf({ a: 'One.\n\nTwo.', b: 'Three.', c: 'Four.\n\nFive.\n\nSix.' });
  const kb = await runs.newKb(shelf);
  const { kernel, embedder } = await runs.start();
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(await runs.job(job)).toMatchObject({
    status: 'success',
    counters: {
      docs_seen: 3,
      docs_unchanged: 0,
      chunks_seen: 6,
      chunks_processed: 6,
      chunks_skipped: 0,
      chunks_error: 0,
      tokens_embedded: 6,
    },
  });
  expect((await runs.contents(kb)).documents).toEqual([
    { uri: 'a', state: 'indexed', chunks: ['One.', 'Two.'] },
    { uri: 'b', state: 'indexed', chunks: ['Three.'] },
    { uri: 'c', state: 'indexed', chunks: ['Four.', 'Five.', 'Six.'] },
  ]);
  expect(embedder.texts.toSorted()).toEqual(['Five.', 'Four.', 'One.', 'Six.', 'Three.', 'Two.']);
});

test('an unchanged rescan calls no embedder and writes no chunk', async () => {
  const kb = await runs.newKb(new Shelf({ a: 'One.\n\nTwo.', b: 'Three.' }));
  const { kernel, embedder } = await runs.start();
  await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  const before = await runs.contents(kb);
  embedder.calls.length = 0;
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect((await runs.job(job)).counters).toMatchObject({ docs_seen: 2, docs_unchanged: 2, chunks_seen: 0 });
  expect(embedder.calls).toEqual([]);
  expect(await runs.contents(kb)).toEqual(before);
});

test('editing one paragraph of a long document embeds at most two chunks', async () => {
  const sentence = (n: number) =>
    `Paragraph ${n} tells of thing ${n * 7919} and why it matters to number ${n}.`;
  const text = (edited: number) =>
    Array.from({ length: 60 }, (_, n) => (n === edited ? 'Something else stands here now.' : sentence(n)));
  const shelf = new Shelf({ book: `# Title\n\n${text(-1).join('\n\n')}` });
  const kb = await runs.newKb(shelf, { chunker: { strategy: 'markdown', maxTokens: 40 } });
  const { kernel, embedder } = await runs.start({ createChunker: realChunker });
  await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(embedder.texts.length).toBeGreaterThan(10);
  embedder.calls.length = 0;
  shelf.put({ book: `# Title\n\n${text(31).join('\n\n')}` });
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(embedder.texts.length).toBeGreaterThan(0);
  expect(embedder.texts.length).toBeLessThanOrEqual(2);
  const { counters } = await runs.job(job);
  expect(counters.chunks_processed).toBe(embedder.texts.length);
  // Of the old text nothing is left.
  const { documents, texts } = await runs.contents(kb);
  expect(documents[0]?.chunks.toSorted()).toEqual(texts);
});

test('documents with the same text share a chunk, embedded once, which stays while one of them does', async () => {
  const shelf = new Shelf({ a: 'Same.\n\nOnly a.', b: 'Same.', c: 'Same.\n\nSame.' });
  const kb = await runs.newKb(shelf);
  const { kernel, embedder } = await runs.start({ embedder: new TestEmbedder({ textsPerCall: 1 }) });
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(embedder.texts.toSorted()).toEqual(['Only a.', 'Same.']);
  expect((await runs.job(job)).counters).toMatchObject({
    chunks_seen: 5,
    chunks_processed: 2,
    chunks_skipped: 3,
  });
  shelf.documents.delete('a');
  shelf.documents.delete('c');
  const second = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect((await runs.job(second)).counters).toMatchObject({ docs_unchanged: 1, docs_gone: 2 });
  expect(await runs.contents(kb)).toEqual({
    documents: [{ uri: 'b', state: 'indexed', chunks: ['Same.'] }],
    texts: ['Same.'],
  });
});

test('a document that changes twice has only its last text', async () => {
  const shelf = new Shelf({ a: 'First.\n\nKept.' });
  const kb = await runs.newKb(shelf);
  const { kernel, embedder } = await runs.start();
  for (const text of ['First.\n\nKept.', 'Second.\n\nKept.', 'Third.\n\nKept.']) {
    shelf.put({ a: text });
    await runs.run(kb);
    await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  }
  expect(await runs.contents(kb)).toEqual({
    documents: [{ uri: 'a', state: 'indexed', chunks: ['Third.', 'Kept.'] }],
    texts: ['Kept.', 'Third.'],
  });
  expect(embedder.texts).toEqual(['First.', 'Kept.', 'Second.', 'Third.']);
});

test('an empty document is no error, and one that cannot be read has a reason and keeps what was indexed', async () => {
  const shelf = new Shelf({ a: 'One.', b: '   \n\n ', c: 'Three.' });
  const kb = await runs.newKb(shelf);
  const { kernel } = await runs.start();
  const first = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect((await runs.job(first)).counters).toMatchObject({ docs_seen: 3, docs_empty: 1, docs_error: 0 });
  shelf.put({
    a: { kind: 'error', uri: 'a', title: 'a', code: 'document_encrypted', message: 'It is encrypted' },
    d: { kind: 'error', uri: 'd', title: 'd\0', code: 'document_is_binary', message: 'It is binary\0' },
  });
  const second = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(await runs.job(second)).toMatchObject({
    status: 'success',
    counters: { docs_seen: 4, docs_error: 2 },
  });
  expect((await runs.contents(kb)).documents).toEqual([
    { uri: 'a', state: 'error', chunks: ['One.'] },
    { uri: 'b', state: 'empty', chunks: [] },
    { uri: 'c', state: 'indexed', chunks: ['Three.'] },
    { uri: 'd', state: 'error', chunks: [] },
  ]);
  const [row] = await database.owner(
    'select error_code, error_text from knowledge_documents where uri = $1',
    ['d'],
  );
  expect(row).toEqual({ error_code: 'document_is_binary', error_text: 'It is binary' });
  // It can be read again, and is what it was.
  shelf.put({ a: 'One.' });
  const third = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect((await runs.job(third)).counters).toMatchObject({ docs_unchanged: 2, chunks_seen: 0 });
  expect((await runs.contents(kb)).documents[0]).toEqual({ uri: 'a', state: 'indexed', chunks: ['One.'] });
});

test('a source that fails deletes nothing, and one that proves a document gone deletes that one', async () => {
  const shelf = new Shelf({ a: 'One.', b: 'Two.', c: 'Three.' });
  const kb = await runs.newKb(shelf);
  const { kernel } = await runs.start();
  await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  shelf.documents.clear();
  shelf.put({ b: { kind: 'gone', uri: 'b' } });
  shelf.end = { isComplete: false, reason: 'The site is down' };
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(await runs.job(job)).toMatchObject({
    status: 'success',
    counters: { docs_gone: 1 },
    checkpoint: { incomplete: [{ source_id: kb.sourceId, reason: 'The site is down' }] },
  });
  expect((await runs.contents(kb)).texts).toEqual(['One.', 'Three.']);
});

test('the documents of a source that was deleted go with the next run', async () => {
  const kb = await runs.newKb(new Shelf({ a: 'One.' }));
  const other = await runs.addShelf(kb, new Shelf({ z: 'Other.' }));
  const { kernel } = await runs.start();
  await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect((await runs.contents(kb)).texts).toEqual(['One.', 'Other.']);
  await database.owner('delete from knowledge_sources where source_id = $1', [other]);
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect((await runs.job(job)).counters).toMatchObject({ docs_gone: 1 });
  expect((await runs.contents(kb)).texts).toEqual(['One.']);
});

test('the database refuses the success of a run whose chunks do not add up', async () => {
  const kb = await runs.newKb(new Shelf({ a: 'One.' }));
  const job = await runs.run(kb);
  const succeed = (counters: string) =>
    database.owner('update ingestion_jobs set counters = $2, status = $3 where job_id = $1', [
      job.jobId,
      counters,
      'success',
    ]);
  await expect(succeed('{"chunks_seen": 3, "chunks_processed": 1, "chunks_skipped": 1}')).rejects.toThrow(
    'has seen 3 chunks but accounts for 2',
  );
  await succeed('{"chunks_seen": 3, "chunks_processed": 1, "chunks_skipped": 1, "chunks_error": 1}');
});
