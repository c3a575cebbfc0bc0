import { expect, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { temporaryFiles } from '../../../../test/support/worlds/knowledge-house.ts';
import { crash, type Kb, Shelf, useKnowledgeRuns } from '../../../../test/support/worlds/knowledge-runs.ts';
import { noSecrets } from '../../../../test/support/worlds/secrets.ts';
import type { FrontierPage } from '../../../kernel/crawl/types.ts';
import type { Tx } from '../../../lib/postgres/db.ts';
import { kbRemovalTask, removeKb } from '../bases/kb-removal.ts';
import { findServingIndex } from '../search/store.ts';
import { createKb } from '../service.ts';
import type { Source } from '../sources/source.ts';
import { findKb, listKbs } from '../store.ts';
import { removeDocument } from './removal.ts';

const database = useDatabase();
const runs = useKnowledgeRuns(database);
const budgetMs = 20_000;
const files = temporaryFiles();

async function filledKb() {
  const kb = await runs.newKb(new Shelf({ a: 'One.\n\nShared.', b: 'Shared.' }));
  const run = await runs.start();
  await runs.run(kb);
  await run.kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  return { kb, ...run };
}

async function rowsLeft({ tenantId, kbId }: Kb): Promise<Record<string, number>> {
  const tables = ['bases', 'sources', 'generations', 'documents', 'links'].map((name) => `knowledge_${name}`);
  const left: Record<string, number> = {};
  for (const table of [...tables, 'embeddings_index']) {
    const [row] = await database.owner<{ n: number }>(
      `select count(*)::integer as n from ${table} where tenant_id = $1 and kb_id = $2`,
      [tenantId, kbId],
    );
    if (row?.n) left[table] = row.n;
  }
  return left;
}

test('one document is taken out of the index with the chunks that it alone has', async () => {
  const { kb } = await filledKb();
  const [row] = await database.owner<{ document_id: string }>(
    `select document_id from knowledge_documents where tenant_id = $1 and uri = 'a'`,
    [kb.tenantId],
  );
  const key = { ...kb, generation: 1, documentId: row?.document_id ?? '' };
  const remove = () => database.db.tenant(kb.tenantId, (tx) => removeDocument(tx, key));
  expect(await remove()).toBe(true);
  expect(await runs.contents(kb)).toEqual({
    documents: [{ uri: 'b', state: 'indexed', chunks: ['Shared.'] }],
    texts: ['Shared.'],
  });
  expect(await remove()).toBe(false);
});

test('a knowledge base goes with everything that is in it', async () => {
  const { kb, deps } = await filledKb();
  await removeKb({ ...deps, files }, kb);
  expect(await rowsLeft(kb)).toEqual({});
});

test('a knowledge base whose deletion was cut off is hidden, and goes with the next upkeep', async () => {
  const { kb, deps } = await filledKb();
  // The first transaction hides it, the second deletes links, and the third deletes chunks.
  let transactions = 0;
  const dying = Object.create(deps.db, {
    tenant: {
      value: (tenant: string, work: (tx: Tx) => Promise<unknown>) =>
        deps.db.tenant(tenant, async (tx) => {
          const done = await work(tx);
          transactions += 1;
          if (transactions === 3) throw new Error('The process has died here');
          return done;
        }),
    },
  });
  const removal = { ...deps, files };
  await expect(removeKb({ ...removal, db: dying }, kb)).rejects.toThrow('The process has died here');
  // Nobody sees it, nobody searches it, and nobody takes its id while there is something of it.
  const { tenantId } = kb;
  const look = <T>(work: (tx: Tx) => Promise<T>) => database.db.tenant(tenantId, work);
  expect(await look((tx) => findKb(tx, kb))).toBeNull();
  expect(await look((tx) => listKbs(tx, { tenantId, after: null, limit: 10 }))).toEqual([]);
  expect(await look((tx) => findServingIndex(tx, kb))).toBeNull();
  await expect(removeKb(removal, kb)).rejects.toMatchObject({ code: 'knowledge_base_not_found' });
  expect(await rowsLeft(kb)).toMatchObject({ knowledge_bases: 1, embeddings_index: 2 });
  const again = { name: 'Again', kb_id: kb.kbId, sources: [] };
  const service = { ...removal, limits: { maxBases: 9, maxSources: 9, maxFiles: 9 }, folderRoot: null };
  const create = () =>
    createKb(
      { ...service, secrets: noSecrets, customEmbedders: [] },
      { tenantId, createdBy: 'tester', role: 'admin' },
      again,
    );
  await expect(create()).rejects.toMatchObject({
    code: 'knowledge_base_exists',
    message: expect.stringContaining('is being deleted'),
  });

  expect(await kbRemovalTask(removal).run()).toEqual({ removed: 1, left: 0 });
  expect(await rowsLeft(kb)).toEqual({});
  expect(await create()).toMatchObject({ kbId: kb.kbId });
});

test('a run whose knowledge base is deleted meanwhile ends and says so', async () => {
  const kb = await runs.newKb(new Shelf({ a: 'One.', b: 'Two.', c: 'Three.' }));
  const { kernel } = await runs.start({
    hooks: {
      before: async (count) => {
        if (count === 4)
          await database.owner('delete from knowledge_bases where tenant_id = $1', [kb.tenantId]);
      },
    },
  });
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(await runs.job(job)).toMatchObject({ status: 'dead_letter', error_code: 'kb_gone' });
});

/** Remembers what it was given to go on from. */
function crawl(resumedWith: FrontierPage[][]): Source {
  return {
    async *batches({ cursor, frontier }) {
      resumedWith.push([...frontier]);
      const from = Number(cursor?.page ?? 0);
      for (let page = from + 1; page <= 3; page += 1) {
        const uri = `page ${page}`;
        const text = `Text ${page}.`;
        yield {
          documents: [
            { kind: 'text', uri, title: uri, text, contentHash: text.padEnd(64), mediaType: 'text/html' },
          ],
          cursor: { page },
          frontier: { found: [{ url: `page ${page + 1}`, depth: page }], visited: [uri] },
          ...(page === 3 ? { end: { isComplete: true } } : {}),
        };
      }
    },
  };
}

test('a crawl goes on with the pages that it knew of, and they are forgotten when it ends', async () => {
  const kb = await runs.newKb(new Shelf());
  const resumedWith: FrontierPage[][] = [];
  const stop = new AbortController();
  const openSource = () => crawl(resumedWith);
  const dying = await runs.start({
    openSource,
    hooks: {
      after: (count) => {
        if (count !== 4) return;
        stop.abort();
        crash();
      },
    },
  });
  const job = await runs.run(kb);
  await dying.kernel.cycle({ budgetMs, tenantId: kb.tenantId, signal: stop.signal });
  const { kernel } = await runs.start({ openSource });
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect((await runs.job(job)).counters).toMatchObject({ docs_seen: 3, chunks_processed: 3 });
  expect(resumedWith).toEqual([
    [],
    [
      { url: 'page 1', depth: 0, isVisited: true },
      { url: 'page 2', depth: 1, isVisited: true },
      { url: 'page 3', depth: 2, isVisited: false },
    ],
  ]);
  const left = await database.owner('select url from knowledge_frontier where tenant_id = $1', [kb.tenantId]);
  expect(left).toEqual([]);
});

test('text that a database cannot keep costs no run', async () => {
  const kb = await runs.newKb(new Shelf({ 'a\0': 'One\0 two.\n\nHalf \ud83d of a pair.', b: '\0' }));
  const { kernel } = await runs.start();
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(await runs.job(job)).toMatchObject({ status: 'success', counters: { docs_seen: 2, docs_empty: 1 } });
  expect((await runs.contents(kb)).documents).toEqual([
    { uri: 'a', state: 'indexed', chunks: ['One two.', 'Half \ufffd of a pair.'] },
    { uri: 'b', state: 'empty', chunks: [] },
  ]);
});
