import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { makeCorpus } from '../../test/recall/corpus.ts';
import { recountWords } from '../../test/support/probes/word-counts.ts';
import { startContender, until } from '../harness/children.mjs';
import { format, percentile } from '../harness/figures.mjs';
import { addDocuments, createKb, listEmbedded, runKb, search } from '../harness/knowledge-sluice.mjs';
import { markdownFiles } from '../harness/markdown-files.mjs';
import { flushWrites } from '../harness/postgres.mjs';
import { makeScratch } from '../harness/scratch.mjs';
import { startProcess, startServe, tenantId } from '../harness/sluice.mjs';

const [sluice, alone, earlier] = ['Sluice', 'the embedder alone', 'Sluice, ranking words as before BM25'];
const kills = 10;
const killEveryMs = 4_000;
const results = 10;
const library = pathToFileURL(new URL('../../dist/library.js', import.meta.url).pathname).href;
const limits = { RATE_LIMIT_PER_MINUTE: '100000', TENANT_REQUESTS_PER_MINUTE: '100000' };

export const bench = {
  name: 'passages',
  title: 'A large knowledge base',
  about: `
Markdown files of together 100,000 passages are indexed with default settings and the local embedder, against the same
embedder in a process of its own that does nothing else. Then 120 questions are asked over HTTP, one after the other, in
both modes that rank words; once more with the ranking of the versions before BM25 (\`ts_rank_cd\`), which is still
there for indexes of those versions. Before that, the same files go into a second knowledge base with an embedder that
costs nothing, while workers are killed with SIGKILL ${kills} times; afterwards the number of passages with each word is
counted again from the texts, and must be what was kept. Without pgvector.`,
  size: 100_000,
  rounds: 1,
  metrics: [
    { key: 'perSecond', title: 'passages/s', better: 'more' },
    ...['hybrid', 'text'].flatMap((mode) => [
      { key: `${mode}P50`, title: `${mode} p50 ms`, better: 'less' },
      { key: `${mode}P95`, title: `${mode} p95 ms`, better: 'less' },
    ]),
  ],
  async open({ server, size, settings }) {
    const database = await server.sluiceDatabase();
    const scratch = await makeScratch();
    await writeConfig(scratch);
    const files = await filesOf(size);
    const serve = await startServe({ database, dataDir: scratch.path, settings: limits });
    const stage = { database, scratch, serve, files, kbId: null, texts: [], best: settings.embedder };
    const checks = await countThroughKills(stage);
    return {
      checks,
      describe: () => ['', ...checks, ''],
      contenders: [
        { label: sluice, measure: () => measureSluice(stage) },
        { label: alone, settings: settings.embedder, measure: () => measureAlone(stage) },
        { label: earlier, measure: () => measureEarlier(stage) },
      ],
      async close() {
        await serve.stop();
        await scratch.remove();
      },
    };
  },
  targets: [
    {
      text: 'indexing at 95 % of the embedder alone',
      judge(figureOf) {
        const share = figureOf(sluice, 'perSecond') / figureOf(alone, 'perSecond');
        return { reached: share >= 0.95, figure: `${format(share * 100)} %` };
      },
    },
    ...['hybrid', 'text'].map((mode) => ({
      text: `p95 of a ${mode} search within 3 times that of the earlier ranking`,
      judge(figureOf) {
        const ratio = figureOf(sluice, `${mode}P95`) / figureOf(earlier, `${mode}P95`);
        return { reached: ratio <= 3, figure: `${format(ratio)} times` };
      },
    })),
  ],
};

/** An embedder that costs nothing, with as many dimensions as the local one. */
async function writeConfig(scratch) {
  const config = `import { defineEmbedder } from ${JSON.stringify(library)};
const one = (text) => {
  let state = 7;
  for (let at = 0; at < text.length; at += 1) state = (Math.imul(state, 31) + text.charCodeAt(at)) >>> 0;
  return Array.from({ length: 384 }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32 - 0.5;
  });
};
const embed = (texts) => texts.map(one);
export default { embedders: [defineEmbedder({ name: 'nothing', model: 'nothing-1', dimensions: 384, embed })] };
`;
  await writeFile(join(scratch.path, 'sluice.config.mjs'), config);
}

/** As many files as make about this number of passages with the default settings. */
async function filesOf(passages) {
  const { createChunker } = await import('../../dist/modules/ingest/knowledge/chunkers/create-chunker.js');
  const { chunkerOf } = await import('../../dist/modules/ingest/knowledge/bases/form.js');
  const { loadTokenCounter } = await import('../../dist/modules/ingest/knowledge/embedders/local-assets.js');
  const settings = chunkerOf(undefined, { provider: 'local' });
  const chunker = createChunker(settings, { countTokens: await loadTokenCounter() });
  const some = markdownFiles(100, 1);
  const made = some.reduce((sum, { content }) => sum + [...chunker.chunks(content)].length, 0);
  return markdownFiles(Math.ceil(passages / (made / some.length)), 1);
}

/** Returns what was counted, in a sentence; throws if a count is wrong. */
async function countThroughKills({ database, scratch, serve, files }) {
  const embedder = { provider: 'custom', name: 'nothing' };
  const chunker = { strategy: 'markdown', max_tokens: 200, context: 'headings' };
  const kbId = await createKb(serve, { name: 'Killed', embedder, chunker });
  await addDocuments(serve, { kbId, files });
  const run = { isOver: false };
  const killing = killWorkers({ database, scratch, run });
  const { counters } = await runKb(serve, { database, kbId });
  run.isOver = true;
  const killed = await killing;
  const { wrong, wrongTotals, words } = await recountWords({ owner: database.query }, { tenantId });
  if (wrong.length > 0 || wrongTotals.length > 0) {
    throw new Error(`Counts of words are wrong: ${JSON.stringify([wrong.slice(0, 5), wrongTotals])}`);
  }
  const [seen, counted] = [counters.chunks_processed, words].map((count) => count.toLocaleString('en-US'));
  const indexed = `${killed} workers were killed while ${seen} passages were indexed`;
  return [`${indexed}; the counts of all ${counted} words were exact.`];
}

/** One worker after the other; the last one may end the run. */
async function killWorkers({ database, scratch, run }) {
  let killed = 0;
  for (;;) {
    const worker = await startProcess(['worker'], {
      database,
      dataDir: scratch.path,
      settings: { LEASE_MS: '2000' },
    });
    const untilMs = performance.now() + killEveryMs;
    while (!run.isOver && (killed === kills || performance.now() < untilMs)) await pause(100);
    if (run.isOver) {
      await worker.stop();
      return killed;
    }
    process.kill(worker.pid, 'SIGKILL');
    killed += 1;
  }
}

async function measureSluice(stage) {
  const { database, serve, scratch, files } = stage;
  const worker = await startProcess(['worker'], { database, dataDir: scratch.path });
  try {
    // The model is loaded by the first run.
    const warm = await createKb(serve, { name: 'Warm-up' });
    await addDocuments(serve, { kbId: warm, files: markdownFiles(20, 3) });
    await runKb(serve, { database, kbId: warm });
    const kbId = await createKb(serve, { name: 'Large' });
    await addDocuments(serve, { kbId, files });
    await flushWrites(database);
    const { counters, seconds } = await runKb(serve, { database, kbId });
    stage.kbId = kbId;
    stage.texts = await listEmbedded(database, kbId);
    const stored = stage.texts.length;
    if (stored !== counters.chunks_processed) throw new Error(`Only ${stored} passages are stored`);
    stage.perSecond = stored / seconds;
  } finally {
    await worker.stop();
  }
  await flushWrites(database);
  return { perSecond: stage.perSecond, ...(await timeSearches(stage)) };
}

/** Upkeep, which would count the words of such an index, runs in workers only. */
async function measureEarlier(stage) {
  const { database, kbId } = stage;
  const mark = 'update knowledge_generations set counted_to = $2 where kb_id = $1';
  await database.query(mark, [kbId, 0]);
  try {
    return { perSecond: null, ...(await timeSearches(stage)) };
  } finally {
    await database.query(mark, [kbId, null]);
  }
}

async function timeSearches({ serve, kbId }) {
  const { queries } = makeCorpus();
  const figures = {};
  for (const mode of ['hybrid', 'text']) {
    const tookMs = [];
    // The first ones read vectors and pages of the index into memory.
    for (const { query } of [...queries.slice(0, 20), ...queries]) {
      const startedAtMs = performance.now();
      await search(serve, { kbId, query, mode, limit: results });
      tookMs.push(performance.now() - startedAtMs);
    }
    const measured = tookMs.slice(20);
    figures[`${mode}P50`] = percentile(measured, 0.5);
    figures[`${mode}P95`] = percentile(measured, 0.95);
  }
  return figures;
}

async function measureAlone({ scratch, texts, best }) {
  const textsFile = join(scratch.path, 'texts.json');
  await writeFile(textsFile, JSON.stringify(texts));
  let told = null;
  const embedder = await startContender('embedder.mjs', { textsFile, best }, (message) => {
    told = message;
  });
  try {
    embedder.go();
    await until('all passages are embedded', () => told !== null, { everyMs: 50, limitMs: 7_200_000 });
    const none = Object.fromEntries(bench.metrics.map(({ key }) => [key, null]));
    return { ...none, perSecond: told.count / told.seconds };
  } finally {
    await embedder.stop();
  }
}
