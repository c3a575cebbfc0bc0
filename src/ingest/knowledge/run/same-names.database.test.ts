import { expect, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { Shelf, useKnowledgeRuns } from '../../../../test/support/worlds/knowledge-runs.ts';

const database = useDatabase();
const runs = useKnowledgeRuns(database);

test('documents of two sources that have the same name are both indexed', async () => {
  const kb = await runs.newKb(new Shelf({ page: 'The first source says amber.' }));
  await runs.addShelf(kb, new Shelf({ page: 'The second source says birch.' }));
  const { kernel } = await runs.start();
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs: 20_000, tenantId: kb.tenantId });
  const { status, counters } = await runs.job(job);
  expect({ status, seen: counters.docs_seen }).toEqual({ status: 'success', seen: 2 });
  const { texts } = await runs.contents(kb);
  expect(texts.sort()).toEqual(['The first source says amber.', 'The second source says birch.']);
});
