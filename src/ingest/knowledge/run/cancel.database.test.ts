import { expect, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import {
  crash,
  type Kb,
  Shelf,
  TestEmbedder,
  useKnowledgeRuns,
} from '../../../../test/support/worlds/knowledge-runs.ts';
import type { Job } from '../../../kernel/jobs/types.ts';

const database = useDatabase();
const runs = useKnowledgeRuns(database);
const budgetMs = 20_000;
const smallCalls = () => new TestEmbedder({ textsPerCall: 2, callsInFlight: 2 });

const before = { a: 'a1.\n\na2.', b: 'b1.', c: 'c1.\n\nc2.', x: 'x1.' };
/** Changed, unchanged, new, empty, broken and gone documents, and texts that old and new documents share. */
const after = {
  a: 'a1.\n\nnew a2.\n\nnew a3.\n\nnew a4.\n\nnew a5.',
  b: 'b1.',
  c: '  ',
  d: 'd1.\n\na2.\n\nd2.',
  e: { kind: 'error', uri: 'e', title: 'e', code: 'document_broken', message: 'It is broken' } as const,
  x: { kind: 'gone', uri: 'x' } as const,
};

/** Every row of the knowledge base, but for what tells of time and of the last look. */
async function rowsOf({ tenantId }: Kb) {
  const documents = await database.owner(
    `select uri, generation, state, content_hash, revision, chunk_count, error_code, previous, title
       from knowledge_documents where tenant_id = $1 order by uri, document_id`,
    [tenantId],
  );
  const links = await database.owner(
    `select l.document_id, l.revision, l.ordinal, l.chunk_id, l.job_id from knowledge_links l
      where tenant_id = $1 order by 1, 2, 3`,
    [tenantId],
  );
  const chunks = await database.owner(
    'select chunk_id, text, created_by_job, generation from embeddings_index where tenant_id = $1 order by chunk_id',
    [tenantId],
  );
  const generations = await database.owner(
    'select generation, state from knowledge_generations where tenant_id = $1 order by 1',
    [tenantId],
  );
  const frontier = await database.owner('select * from knowledge_frontier where tenant_id = $1', [tenantId]);
  return { documents, links, chunks, generations, frontier };
}

async function filledKb() {
  const shelf = new Shelf(before);
  const kb = await runs.newKb(shelf);
  const { kernel } = await runs.start();
  await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  const rows = await rowsOf(kb);
  shelf.documents.clear();
  shelf.put(after);
  return { kb, rows };
}

/** Cancels the run after so many of its transactions; answers whether it came that far. */
async function cancelAfter(kb: Kb, at: number): Promise<Job | null> {
  const stop = new AbortController();
  let wanted: Job | undefined;
  const { kernel } = await runs.start({
    embedder: smallCalls(),
    hooks: {
      after: async (count) => {
        if (count !== at || !wanted) return;
        const { stage } = await runs.job(wanted);
        if (stage === 'sweep') return;
        await runs.cancel(wanted);
        stop.abort();
      },
    },
  });
  wanted = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId, signal: stop.signal });
  return stop.signal.aborted ? wanted : null;
}

const canceled = {
  status: 'canceled',
  cleanup_open: false,
  checkpoint: {},
  counters: {},
  error_message: 'Canceled by user',
  finished_at: expect.any(Date),
};

test('cancel after any commit takes back what the run added, and nothing of an earlier one', async () => {
  let canceledRuns = 0;
  for (let at = 1; ; at += 1) {
    const { kb, rows } = await filledKb();
    const job = await cancelAfter(kb, at);
    if (job === null) break;
    canceledRuns += 1;
    const { kernel } = await runs.start();
    await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
    expect(await runs.job(job)).toMatchObject(canceled);
    expect(await rowsOf(kb), `after transaction ${at}`).toEqual(rows);
  }
  expect(canceledRuns).toBeGreaterThan(5);
}, 120_000);

test('a run that was canceled can be started again, and ends as if nothing had been', async () => {
  const { kb } = await filledKb();
  const canceledJob = await cancelAfter(kb, 4);
  expect(canceledJob).not.toBeNull();
  const { kernel } = await runs.start();
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(await runs.job(job)).toMatchObject({ status: 'success', counters: { docs_seen: 5, docs_gone: 1 } });
  expect((await runs.contents(kb)).documents).toEqual([
    { uri: 'a', state: 'indexed', chunks: ['a1.', 'new a2.', 'new a3.', 'new a4.', 'new a5.'] },
    { uri: 'b', state: 'indexed', chunks: ['b1.'] },
    { uri: 'c', state: 'empty', chunks: [] },
    { uri: 'd', state: 'indexed', chunks: ['d1.', 'a2.', 'd2.'] },
    { uri: 'e', state: 'error', chunks: [] },
  ]);
});

test('a first run that is canceled leaves nothing at all', async () => {
  const kb = await runs.newKb(new Shelf(before));
  const job = await cancelAfter(kb, 4);
  expect(job).not.toBeNull();
  expect((await rowsOf(kb)).chunks.length).toBeGreaterThan(0);
  const { kernel } = await runs.start();
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(await runs.job(job as Job)).toMatchObject(canceled);
  expect(await rowsOf(kb)).toEqual({ documents: [], links: [], chunks: [], generations: [], frontier: [] });
});

test('a worker that dies at any step of the cleanup leaves the rest to another one', async () => {
  for (let at = 1; ; at += 1) {
    const { kb, rows } = await filledKb();
    const job = (await cancelAfter(kb, 5)) as Job;
    const stop = new AbortController();
    const dying = await runs.start({
      hooks: {
        after: (count) => {
          if (count !== at) return;
          stop.abort();
          crash();
        },
      },
    });
    await dying.kernel.cycle({ budgetMs, tenantId: kb.tenantId, signal: stop.signal });
    if (!stop.signal.aborted) {
      expect(at).toBeGreaterThan(4);
      break;
    }
    expect((await runs.job(job)).cleanup_open).toBe(true);
    const { kernel } = await runs.start();
    await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
    expect(await runs.job(job)).toMatchObject(canceled);
    expect(await rowsOf(kb)).toEqual(rows);
  }
}, 120_000);

test('a run that puts its result in place cannot be canceled any more', async () => {
  const { kb } = await filledKb();
  let wanted: Job | undefined;
  const refused: unknown[] = [];
  const { kernel } = await runs.start({
    hooks: {
      after: async () => {
        if (wanted && (await runs.job(wanted)).stage === 'sweep') {
          await runs.cancel(wanted).catch((error: unknown) => refused.push(error));
        }
      },
    },
  });
  wanted = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(refused.length).toBeGreaterThan(0);
  expect(refused[0]).toMatchObject({ code: 'run_finishing' });
  expect(await runs.job(wanted)).toMatchObject({ status: 'success' });
});
