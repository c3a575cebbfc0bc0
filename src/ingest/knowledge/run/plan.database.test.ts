import { expect, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { Shelf, TestEmbedder, useKnowledgeRuns } from '../../../../test/support/worlds/knowledge-runs.ts';
import { planRun } from './plan.ts';

const database = useDatabase();
const runs = useKnowledgeRuns(database);
const budgetMs = 20_000;

test('a plan says what a run would do, without calling the embedder', async () => {
  const shelf = new Shelf({ a: 'One two.\n\nTwo three.', b: 'Three.', c: 'Four.\n\nThree.' });
  const kb = await runs.newKb(shelf);
  const embedder = new TestEmbedder({ price: 500_000 });
  const { kernel, deps } = await runs.start({ embedder });
  expect(await planRun(deps, kb)).toEqual({
    documents: { new: 3, changed: 0, gone: 0, unchanged: 0 },
    chunks: 4,
    tokens: 6,
    cost: 3,
    isComplete: true,
    isRebuild: false,
  });
  expect(embedder.calls).toEqual([]);
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect((await runs.job(job)).counters).toMatchObject({
    docs_seen: 3,
    chunks_processed: 4,
    tokens_embedded: 6,
  });

  shelf.put({ b: 'Three.\n\nFive.', d: 'Six.' }).documents.delete('c');
  const called = embedder.calls.length;
  expect(await planRun(deps, kb)).toEqual({
    documents: { new: 1, changed: 1, gone: 1, unchanged: 1 },
    chunks: 2,
    tokens: 2,
    cost: 1,
    isComplete: true,
    isRebuild: false,
  });
  expect(embedder.calls.length).toBe(called);
});

test('with another embedder everything is to be embedded again', async () => {
  const kb = await runs.newKb(new Shelf({ a: 'One.\n\nTwo.', b: 'Three.' }));
  const { kernel } = await runs.start();
  await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  const other = await runs.start({ embedder: new TestEmbedder({ model: 'other' }) });
  expect(await planRun(other.deps, kb)).toMatchObject({
    documents: { new: 0, changed: 2, gone: 0, unchanged: 0 },
    chunks: 3,
    isComplete: true,
    isRebuild: true,
  });
});

test('a source that fails or takes too long makes a plan that is not complete and calls nothing gone', async () => {
  const shelf = new Shelf({ a: 'One.', b: 'Two.', c: 'Three.' });
  const kb = await runs.newKb(shelf);
  const { kernel, deps } = await runs.start();
  await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  shelf.documents.delete('c');
  shelf.end = { isComplete: false, reason: 'The site is down' };
  expect(await planRun(deps, kb)).toMatchObject({ documents: { gone: 0, unchanged: 2 }, isComplete: false });
  shelf.end = { isComplete: true };
  shelf.onBatch = (_names, signal) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  expect(await planRun(deps, kb, { maxMs: 20 })).toMatchObject({ documents: { gone: 0 }, isComplete: false });
});

test('a knowledge base that is not there has no plan', async () => {
  const { deps } = await runs.start();
  const kb = await runs.newKb(new Shelf());
  await expect(planRun(deps, { ...kb, kbId: 'another' })).rejects.toMatchObject({
    code: 'knowledge_base_not_found',
  });
});
