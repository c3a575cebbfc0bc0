import { expect, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { eventually } from '../../../../test/support/worlds/kernel.ts';
import {
  crash,
  type Kb,
  type RunHooks,
  Shelf,
  TestEmbedder,
  useKnowledgeRuns,
} from '../../../../test/support/worlds/knowledge-runs.ts';
import type { Job } from '../../../kernel/jobs/types.ts';

const database = useDatabase();
const runs = useKnowledgeRuns(database);
const budgetMs = 20_000;

const texts = (name: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${name}${n + 1}.`).join('\n\n');
/** Small documents that share groups, a large one that needs several, and texts that are there twice. */
const documents = {
  a: texts('a', 1),
  b: texts('b', 2),
  c: `${texts('c', 7)}\n\na1.`,
  d: `${texts('d', 1)}\n\nd1.`,
  e: '  ',
  f: { kind: 'error', uri: 'f', title: 'f', code: 'document_broken', message: 'It is broken' } as const,
};
const smallCalls = () => new TestEmbedder({ textsPerCall: 3, callsInFlight: 2 });
const whole = {
  status: 'success',
  counters: {
    docs_seen: 6,
    docs_unchanged: 0,
    docs_empty: 1,
    docs_error: 1,
    docs_gone: 0,
    chunks_seen: 13,
    chunks_processed: 11,
    chunks_skipped: 2,
    chunks_error: 0,
  },
};
const wholeContents = [
  { uri: 'a', state: 'indexed', chunks: ['a1.'] },
  { uri: 'b', state: 'indexed', chunks: ['b1.', 'b2.'] },
  { uri: 'c', state: 'indexed', chunks: ['c1.', 'c2.', 'c3.', 'c4.', 'c5.', 'c6.', 'c7.', 'a1.'] },
  { uri: 'd', state: 'indexed', chunks: ['d1.', 'd1.'] },
  { uri: 'e', state: 'empty', chunks: [] },
  { uri: 'f', state: 'error', chunks: [] },
];

async function committedTexts({ tenantId }: Kb): Promise<Set<string>> {
  const rows = await database.owner<{ text: string }>(
    'select text from embeddings_index where tenant_id = $1',
    [tenantId],
  );
  return new Set(rows.map(({ text }) => text));
}

/** A kernel that is cut off at one of its transactions. */
async function runUntil(kb: Kb, { when, at }: { when: keyof RunHooks; at: number }) {
  const stop = new AbortController();
  const cutOff = (count: number) => {
    if (count !== at) return;
    stop.abort();
    crash();
  };
  const first = await runs.start({ embedder: smallCalls(), hooks: { [when]: cutOff } });
  const job = await runs.run(kb);
  await first.kernel.cycle({ budgetMs, tenantId: kb.tenantId, signal: stop.signal });
  expect(stop.signal.aborted).toBe(true);
  return { first, job };
}

/** One kernel is cut off, another one goes on. */
async function runTwice(kb: Kb, cut: { when: keyof RunHooks; at: number }) {
  const { first, job } = await runUntil(kb, cut);
  const committed = await committedTexts(kb);
  const second = await runs.start({ embedder: smallCalls() });
  await second.kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  return { job, first, second, committed };
}

/** How many transactions a run has when nothing happens to it. */
async function countTransactions(): Promise<number> {
  const kb = await runs.newKb(new Shelf(documents));
  let transactions = 0;
  const { kernel } = await runs.start({
    embedder: smallCalls(),
    hooks: {
      after: (count) => {
        transactions = count;
      },
    },
  });
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  await expectWhole(kb, job);
  return transactions;
}

async function expectWhole(kb: Kb, job: Job): Promise<void> {
  expect(await runs.job(job)).toMatchObject(whole);
  expect((await runs.contents(kb)).documents).toEqual(wholeContents);
}

test('a worker that dies after any commit loses nothing, and nothing is counted or embedded twice', async () => {
  const transactions = await countTransactions();
  expect(transactions).toBeGreaterThan(12);
  for (let at = 1; at <= transactions; at += 1) {
    const kb = await runs.newKb(new Shelf(documents));
    const { job, second, committed } = await runTwice(kb, { when: 'after', at });
    await expectWhole(kb, job);
    const again = second.embedder.texts.filter((text) => committed.has(text));
    expect(again, `embedded although they were in, after transaction ${at}`).toEqual([]);
  }
}, 120_000);

test('a worker that dies between embedding and commit has written nothing of the group', async () => {
  for (const at of [3, 4, 5, 6]) {
    const kb = await runs.newKb(new Shelf(documents));
    const { job, first, second, committed } = await runTwice(kb, { when: 'before', at });
    expect(first.embedder.texts.length).toBeGreaterThan(committed.size);
    await expectWhole(kb, job);
    expect(second.embedder.texts.filter((text) => committed.has(text))).toEqual([]);
    // Each text was needed once by whoever put it in.
    expect(second.embedder.texts.length + committed.size).toBe(11);
  }
}, 60_000);

test('a document whose text changes while half of it is in starts anew, and its counters are taken back', async () => {
  const shelf = new Shelf({ a: texts('a', 9), b: texts('b', 1) });
  const kb = await runs.newKb(shelf);
  const { job } = await runUntil(kb, { when: 'after', at: 4 });
  expect((await runs.job(job)).checkpoint).toMatchObject({ document: { uri: 'a', next_chunk: 6 } });
  shelf.put({ a: `${texts('a', 2)}\n\n${texts('z', 3)}` });
  const second = await runs.start({ embedder: smallCalls() });
  await second.kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  const { status, counters } = await runs.job(job);
  expect(status).toBe('success');
  expect(counters).toMatchObject({ docs_seen: 2, chunks_seen: 6 });
  const { documents: found, texts: all } = await runs.contents(kb);
  expect(found[0]?.chunks).toEqual(['a1.', 'a2.', 'z1.', 'z2.', 'z3.']);
  expect(all).toEqual(['a1.', 'a2.', 'b1.', 'z1.', 'z2.', 'z3.']);
}, 60_000);

test('a document that is gone while half of it is in leaves nothing', async () => {
  const shelf = new Shelf({ a: texts('a', 9), b: texts('b', 1) });
  const kb = await runs.newKb(shelf);
  const { job } = await runUntil(kb, { when: 'after', at: 4 });
  shelf.documents.delete('a');
  const second = await runs.start({ embedder: smallCalls() });
  await second.kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(await runs.job(job)).toMatchObject({
    status: 'success',
    counters: { docs_seen: 1, chunks_seen: 1 },
  });
  expect(await runs.contents(kb)).toEqual({
    documents: [{ uri: 'b', state: 'indexed', chunks: ['b1.'] }],
    texts: ['b1.'],
  });
});

test('pausing parks the run without a lease, and resuming goes on from the checkpoint', async () => {
  const shelf = new Shelf(documents);
  const kb = await runs.newKb(shelf);
  const embedder = smallCalls();
  const { kernel } = await runs.start({ embedder });
  const job = await runs.run(kb);
  let isPaused = false;
  embedder.onCall = async (_texts, signal) => {
    if (isPaused) return;
    isPaused = true;
    await runs.pause(job);
    // The worker has read the answer to a heartbeat when it sends the next one.
    const heard = new Set<string>();
    await eventually(async () => {
      const [row] = await database.owner<{ age: number; at: string }>(
        `select extract(epoch from heartbeat_at - updated_at) as age, heartbeat_at::text as at
           from ingestion_jobs where job_id = $1`,
        [job.jobId],
      );
      if (Number(row?.age) > 0.05) heard.add(row?.at ?? '');
      return signal.aborted || heard.size > 1;
    }, 'the worker has heard of it');
  };
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  const parked = await runs.job(job);
  expect(parked).toMatchObject({ status: 'paused', leased_by: null });
  const before = await committedTexts(kb);
  expect(before.size).toBeLessThan(11);
  const called = embedder.calls.length;
  await kernel.cycle({ budgetMs: 1_000, tenantId: kb.tenantId });
  expect(embedder.calls.length).toBe(called);
  await runs.resume(job);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  await expectWhole(kb, job);
  expect(embedder.texts.length).toBe(11);
});

test('a paused run takes on no further group, however long the heartbeat of its worker is', async () => {
  const shelf = new Shelf({ long: texts('long', 40) });
  const kb = await runs.newKb(shelf);
  const embedder = new TestEmbedder({ textsPerCall: 1, callsInFlight: 1 });
  const { kernel } = await runs.start({ embedder, heartbeatMs: 60_000 });
  const job = await runs.run(kb);
  embedder.onCall = async () => {
    if (embedder.calls.length === 1) await runs.pause(job);
  };
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(await runs.job(job)).toMatchObject({ status: 'paused', leased_by: null });
  // The first one, and those that were under way when it was committed.
  expect(embedder.texts.length).toBeLessThan(6);
  expect((await committedTexts(kb)).size).toBe(embedder.texts.length);
  await runs.resume(job);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(await runs.job(job)).toMatchObject({ status: 'success', counters: { chunks_processed: 40 } });
  expect(embedder.texts.length).toBe(40);
});

test('a run of many slices loads each document once and ends like a run of one', async () => {
  const shelf = new Shelf(documents);
  const kb = await runs.newKb(shelf);
  const { kernel, embedder } = await runs.start({
    embedder: new TestEmbedder({ textsPerCall: 1, callsInFlight: 1 }),
    sliceMs: 0,
  });
  const job = await runs.run(kb);
  const { processed: slices } = await kernel.kickOff({ ...kb, jobId: job.jobId, durationMs: budgetMs });
  expect(slices).toBeGreaterThan(3);
  await expectWhole(kb, job);
  expect(embedder.texts.length).toBe(11);
  expect(shelf.loaded).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
});
