import { expect, test } from 'vitest';
import { useDatabase } from '../../../../test/support/worlds/database.ts';
import { eventually } from '../../../../test/support/worlds/kernel.ts';
import {
  crash,
  type Kb,
  paragraphs,
  Shelf,
  sha256,
  TestEmbedder,
  useKnowledgeRuns,
} from '../../../../test/support/worlds/knowledge-runs.ts';
import { lockGeneration } from '../index/generation-store.ts';
import type { LoadedDocument, Source } from '../sources/source.ts';

const database = useDatabase();
const runs = useKnowledgeRuns(database);
const budgetMs = 20_000;

interface GenerationRow {
  generation: number;
  state: string;
  dimensions: number;
}

const generationsOf = ({ tenantId }: Kb) =>
  database.owner<GenerationRow>(
    'select generation, state, dimensions from knowledge_generations where tenant_id = $1 order by generation',
    [tenantId],
  );

const countOf = async (table: string, { tenantId }: Kb): Promise<number> => {
  const [row] = await database.owner<{ n: number }>(
    `select count(*)::integer as n from ${table} where tenant_id = $1`,
    [tenantId],
  );
  return row?.n ?? 0;
};

async function filledKb() {
  const shelf = new Shelf({ a: 'One.\n\nTwo.', b: 'Three.', c: 'Four.' });
  const kb = await runs.newKb(shelf);
  const { kernel } = await runs.start();
  await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  return { kb, shelf, before: await runs.contents(kb) };
}

const otherModel = () => new TestEmbedder({ model: 'other', dimensions: 4, textsPerCall: 1 });

test('another embedder builds a new generation; the old one serves until the switch, and then is gone', async () => {
  const { kb, before } = await filledKb();
  const seen: { during: unknown; states: string[] }[] = [];
  const embedder = otherModel();
  const { kernel } = await runs.start({
    embedder,
    hooks: {
      after: async () => {
        const states = (await generationsOf(kb)).map(({ state }) => state);
        if (states.includes('building')) seen.push({ during: await runs.contents(kb), states });
      },
    },
  });
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(seen.length).toBeGreaterThan(4);
  for (const { during } of seen) expect(during).toEqual(before);
  expect(await runs.job(job)).toMatchObject({
    status: 'success',
    counters: { docs_seen: 3, chunks_processed: 4 },
  });
  expect(await generationsOf(kb)).toEqual([{ generation: 2, state: 'serving', dimensions: 4 }]);
  expect(await runs.contents(kb)).toEqual(before);
  expect(await countOf('embeddings_index', kb)).toBe(4);
  expect(await countOf('knowledge_links', kb)).toBe(4);
  expect(await countOf('knowledge_documents', kb)).toBe(3);
  const [row] = await database.owner<{ bytes: number }>(
    'select length(vector) as bytes from embeddings_index where tenant_id = $1 limit 1',
    [kb.tenantId],
  );
  expect(row?.bytes).toBe(16);
});

test('a worker that dies at any step of the switch leaves one generation that serves everything', async () => {
  const count = async (at: number) => {
    const { kb, before } = await filledKb();
    const stop = new AbortController();
    const { kernel } = await runs.start({
      embedder: otherModel(),
      hooks: {
        after: (done) => {
          if (done !== at) return;
          stop.abort();
          crash();
        },
      },
    });
    const job = await runs.run(kb);
    await kernel.cycle({ budgetMs, tenantId: kb.tenantId, signal: stop.signal });
    if (!stop.signal.aborted) return false;
    expect(await runs.contents(kb)).toEqual(before);
    const second = await runs.start({ embedder: otherModel() });
    await second.kernel.cycle({ budgetMs, tenantId: kb.tenantId });
    expect(await runs.job(job)).toMatchObject({
      status: 'success',
      counters: { chunks_processed: 4, chunks_skipped: 0 },
    });
    expect(await runs.contents(kb)).toEqual(before);
    expect(await generationsOf(kb)).toHaveLength(1);
    expect(await countOf('embeddings_index', kb)).toBe(4);
    return true;
  };
  let at = 7;
  while (await count(at)) at += 1;
  expect(at).toBeGreaterThan(12);
}, 120_000);

test('a run with another embedder that is canceled leaves the old generation as it was', async () => {
  const { kb, before } = await filledKb();
  const embedder = otherModel();
  const stop = new AbortController();
  const { kernel } = await runs.start({
    embedder,
    hooks: {
      after: async (count, { job }) => {
        if (count !== 4) return;
        await runs.cancel(job);
        stop.abort();
      },
    },
  });
  await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId, signal: stop.signal });
  expect(await generationsOf(kb)).toHaveLength(2);
  const second = await runs.start({ embedder });
  await second.kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(await generationsOf(kb)).toEqual([{ generation: 1, state: 'serving', dimensions: 8 }]);
  expect(await runs.contents(kb)).toEqual(before);
  expect(await countOf('embeddings_index', kb)).toBe(4);
});

test('a new generation that lacks what a failed source has does not serve; the next run goes on with it', async () => {
  const { kb, shelf, before } = await filledKb();
  const embedder = otherModel();
  const { kernel } = await runs.start({ embedder });
  shelf.documents.delete('c');
  shelf.end = { isComplete: false, reason: 'The site is down' };
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(await runs.job(job)).toMatchObject({
    status: 'dead_letter',
    error_code: 'generation_incomplete',
    error_message: expect.stringContaining('The site is down'),
  });
  expect(await runs.contents(kb)).toEqual(before);
  embedder.calls.length = 0;
  shelf.put({ c: 'Four.' }).end = { isComplete: true };
  const second = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect((await runs.job(second)).status).toBe('success');
  expect(embedder.texts).toEqual(['Four.']);
  expect(await generationsOf(kb)).toEqual([{ generation: 2, state: 'serving', dimensions: 4 }]);
  expect(await runs.contents(kb)).toEqual(before);
});

test('a new generation does not serve when not one document could be read', async () => {
  const { kb, shelf, before } = await filledKb();
  for (const uri of shelf.documents.keys()) {
    shelf.put({ [uri]: { kind: 'error', uri, title: uri, code: 'document_unreadable', message: 'No' } });
  }
  const { kernel } = await runs.start({ embedder: otherModel() });
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(await runs.job(job)).toMatchObject({ status: 'dead_letter', error_code: 'generation_incomplete' });
  expect(await runs.contents(kb)).toEqual(before);
});

/** One reference, whatever it is asked for. */
function referenceSource(text: () => string): Source {
  return {
    async *batches() {
      const document: LoadedDocument = {
        kind: 'text',
        uri: 'reference:1',
        title: 'Reference',
        text: text(),
        contentHash: sha256(text()),
        mediaType: 'text/plain',
      };
      yield { documents: [document], cursor: {}, end: { isComplete: true } };
    },
  };
}

async function withReference(kb: Kb) {
  await database.owner(
    `insert into knowledge_sources (tenant_id, kb_id, source_id, type) values ($1, $2, $3, 'reference')`,
    [kb.tenantId, kb.kbId, 'ffffffff-0000-7000-8000-000000000001'],
  );
}

test('a single reference is written beside everything else, and deletes nothing', async () => {
  const { kb, before } = await filledKb();
  await withReference(kb);
  const { kernel } = await runs.start({
    openSource: () => referenceSource(() => 'One.\n\nFrom a reference.'),
  });
  const job = await runs.run({ ...kb, kbId: kb.kbId }, { referenceId: '1' });
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(await runs.job(job)).toMatchObject({
    status: 'success',
    counters: { docs_seen: 1, docs_gone: 0, chunks_processed: 1, chunks_skipped: 1 },
  });
  const { documents } = await runs.contents(kb);
  expect(documents).toEqual([
    ...before.documents,
    { uri: 'reference:1', state: 'indexed', chunks: ['One.', 'From a reference.'] },
  ]);
});

test('a single reference cannot start another generation', async () => {
  const { kb } = await filledKb();
  await withReference(kb);
  const { kernel } = await runs.start({
    embedder: otherModel(),
    openSource: () => referenceSource(() => 'New.'),
  });
  const job = await runs.run(kb, { referenceId: '1' });
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(await runs.job(job)).toMatchObject({ status: 'dead_letter', error_code: 'settings_changed' });
});

/** As a run of a reference does it: the generation is locked, the chunk goes, and the commit comes a little later. */
async function deleteMeanwhile({ tenantId, kbId }: Kb, text: string, deleted: () => void): Promise<void> {
  await database.db.tenant(tenantId, async (tx) => {
    await lockGeneration(tx, { tenantId, kbId, generation: 1 });
    const { rows } = await tx.client.query<{ chunk_id: number }>(
      'delete from embeddings_index where tenant_id = $1 and text = $2 returning chunk_id',
      [tenantId, text],
    );
    await tx.client.query('delete from knowledge_links where tenant_id = $1 and chunk_id = $2', [
      tenantId,
      rows[0]?.chunk_id,
    ]);
    deleted();
    await eventually(async () => {
      const waiting = await database.owner(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return waiting.length > 0;
    }, 'somebody waits for the lock of the generation');
  });
}

test('a chunk that another run is deleting is not linked to: the commit waits, and it is embedded again', async () => {
  const { kb, shelf } = await filledKb();
  shelf.put({ d: 'Four.\n\nNew.' });
  shelf.documents.delete('c');
  let deleting: Promise<void> | undefined;
  const { kernel, embedder } = await runs.start({
    hooks: {
      // Behind the look for what is there, before the commit.
      before: async (count) => {
        if (count < 3 || deleting) return;
        await new Promise<void>((resolve, reject) => {
          deleting = deleteMeanwhile(kb, 'Four.', resolve);
          deleting.catch(reject);
        });
      },
    },
  });
  const job = await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  await deleting;
  expect(await runs.job(job)).toMatchObject({
    status: 'success',
    counters: { chunks_seen: 2, chunks_processed: 2, tokens_embedded: 2 },
  });
  expect(embedder.texts.toSorted()).toEqual(['Four.', 'New.']);
  expect((await runs.contents(kb)).texts).toEqual(['Four.', 'New.', 'One.', 'Three.', 'Two.']);
});

test('other settings of the chunker make another generation as well', async () => {
  const { kb } = await filledKb();
  await database.owner(
    `update knowledge_bases set chunker = '{"strategy": "recursive", "maxTokens": 50}'
                         where tenant_id = $1`,
    [kb.tenantId],
  );
  const { kernel, embedder } = await runs.start({ createChunker: paragraphs });
  await runs.run(kb);
  await kernel.cycle({ budgetMs, tenantId: kb.tenantId });
  expect(embedder.texts.length).toBe(4);
  expect(await generationsOf(kb)).toMatchObject([{ generation: 2, state: 'serving' }]);
});
