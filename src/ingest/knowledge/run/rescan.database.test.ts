import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import {
  crash,
  type Kb,
  type RunOptions,
  Shelf,
  TestEmbedder,
  useKnowledgeRuns,
} from '../../../../test/support/worlds/knowledge-runs.ts';
import { createFolderSource } from '../sources/folder.ts';
import { planRun } from './plan.ts';

// A thousand files are indexed first.
vi.setConfig({ testTimeout: 120_000 });

const database = useDatabase();
const runs = useKnowledgeRuns(database);
const budgetMs = 60_000;

let root: string;
beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'sluice-rescan-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** As if all files had been left alone for long enough. */
const openSource: RunOptions['openSource'] = (kb) =>
  createFolderSource({ root, folder: kb.kbId, now: () => Date.now() + 60_000 });

async function put(kb: Kb, texts: Record<string, string>): Promise<void> {
  const folder = path.join(root, kb.kbId);
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries(texts)) await writeFile(path.join(folder, name), text);
}

const take = (kb: Kb, name: string) => rm(path.join(root, kb.kbId, name));

/** A folder that was read once, by a run that came to its end. */
async function scanned(texts: Record<string, string>) {
  const kb = await runs.newKb(new Shelf());
  await put(kb, texts);
  const embedder = new TestEmbedder({ textsPerCall: 200, tokensPerCall: 100_000 });
  const run = await runs.start({ openSource, embedder });
  const again = async (options: RunOptions = {}) => {
    const { kernel, embedder } = await runs.start({ openSource, ...options });
    const job = await runs.run(kb);
    await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
    return { job, kernel, texts: embedder.texts, row: await runs.job(job) };
  };
  await runs.run(kb);
  await run.kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  return { kb, again, deps: run.deps, contents: await runs.contents(kb) };
}

/** What is read from now on is taken for changed: unchanged is only what nobody opened. */
const spoilHashes = ({ tenantId }: Kb) =>
  database.owner(`update knowledge_documents set content_hash = 'spoilt' where tenant_id = $1`, [tenantId]);

const few = { 'a.md': 'One.', 'b.md': 'Two.\n\nShared.', 'c.md': 'Three.\n\nShared.' };
const many = Object.fromEntries(
  Array.from({ length: 1_150 }, (_, at) => [`${10_000 + at}.md`, `Number ${at}.`]),
);

test('a changed folder is read only where it changed: edited, new and vanished files', async () => {
  const { kb, again } = await scanned(few);
  await spoilHashes(kb);
  await put(kb, { 'b.md': 'Two again.\n\nShared.', 'd.md': 'Four.' });
  await take(kb, 'c.md');
  const { row, texts } = await again();
  expect(row).toMatchObject({
    status: 'success',
    counters: { docs_seen: 3, docs_unchanged: 1, docs_gone: 1, chunks_processed: 2, chunks_skipped: 1 },
  });
  expect(texts.toSorted()).toEqual(['Four.', 'Two again.']);
  expect((await runs.contents(kb)).texts).toEqual(['Four.', 'One.', 'Shared.', 'Two again.']);
});

test('a rescan reads nothing, and one that is cut off anywhere goes on and counts nothing twice', async () => {
  const { kb, again, contents } = await scanned(many);
  await spoilHashes(kb);
  let isCut = true;
  let at = 0;
  while (isCut) {
    at += 1;
    isCut = false;
    const cutOff = (count: number): void => {
      if (count !== at) return;
      isCut = true;
      crash();
    };
    const { job, texts } = await again({ hooks: { after: cutOff } });
    expect(texts).toEqual([]);
    const { kernel } = await runs.start({ openSource });
    await runs.bringForward(job);
    await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
    expect(await runs.job(job), `cut off behind transaction ${at}`).toMatchObject({
      status: 'success',
      counters: { docs_seen: 1_150, docs_unchanged: 1_150, docs_gone: 0, chunks_seen: 0 },
    });
  }
  // Two batches, and what begins and ends a run.
  expect(at).toBeGreaterThan(6);
  expect(at).toBeLessThan(18);
  expect(await runs.contents(kb)).toEqual(contents);
});

test('a rescan that is canceled leaves everything as it was, and the next one sees the same changes', async () => {
  const { kb, again, contents } = await scanned(few);
  await put(kb, { 'b.md': 'Two again.\n\nShared.', 'd.md': 'Four.' });
  await take(kb, 'c.md');
  let isCanceled = false;
  const canceled = await again({
    hooks: {
      before: async (_count, { job }) => {
        const { counters } = await runs.job(job);
        if (isCanceled || !counters.chunks_seen) return;
        isCanceled = true;
        await runs.cancel(job);
      },
    },
  });
  await canceled.kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(isCanceled).toBe(true);
  expect(await runs.job(canceled.job)).toMatchObject({ status: 'canceled', cleanup_open: false });
  expect(await runs.contents(kb)).toEqual(contents);
  const { row } = await again();
  expect(row).toMatchObject({
    status: 'success',
    counters: { docs_seen: 3, docs_unchanged: 1, docs_gone: 1 },
  });
  expect((await runs.contents(kb)).texts).toEqual(['Four.', 'One.', 'Shared.', 'Two again.']);
});

test('other settings read and embed everything anew, however old the files are', async () => {
  const { kb, again } = await scanned(few);
  await database.owner(
    `update knowledge_bases set chunker = '{"strategy": "recursive", "maxTokens": 50}' where tenant_id = $1`,
    [kb.tenantId],
  );
  const { row, texts } = await again();
  expect(row).toMatchObject({ status: 'success', counters: { docs_seen: 3, docs_unchanged: 0 } });
  expect(texts.toSorted()).toEqual(['One.', 'Shared.', 'Three.', 'Two.']);
});

test('a plan does not read what has not changed either', async () => {
  const { kb, deps } = await scanned(few);
  await spoilHashes(kb);
  await put(kb, { 'b.md': 'Two again.\n\nShared.' });
  await take(kb, 'c.md');
  expect(await planRun(deps, kb)).toMatchObject({
    documents: { new: 0, changed: 1, gone: 1, unchanged: 1 },
    chunks: 1,
    isComplete: true,
  });
});

test('what an earlier run left unfinished goes with a rescan that changes nothing itself', async () => {
  const { kb, again, contents } = await scanned(few);
  await put(kb, { 'b.md': 'Two again.\n\nShared.\n\nMore.' });
  const dead = await again({ hooks: { after: (count) => (count === 3 ? crash() : undefined) } });
  await database.owner(`update ingestion_jobs set status = 'dead_letter' where job_id = $1`, [
    dead.job.jobId,
  ]);
  await put(kb, few);
  await again();
  expect(await runs.contents(kb)).toEqual(contents);
});
