import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startContender, until } from '../harness/children.mjs';
import { format } from '../harness/figures.mjs';
import { addDocuments, createKb, listEmbedded, runKb } from '../harness/knowledge-sluice.mjs';
import { markdownFiles, writeMarkdownFiles } from '../harness/markdown-files.mjs';
import { flushWrites } from '../harness/postgres.mjs';
import { makeScratch } from '../harness/scratch.mjs';
import { startServe, tenantId } from '../harness/sluice.mjs';

const chunks = 'chunksPerSecond';
const documents = 'documentsPerSecond';
const [sluiceIndex, alone] = ['Sluice, new files', 'the embedder alone'];
const [folderRescan, langchain] = ['Sluice, folder again', 'LangChain.js index()'];
const filesRescan = 'Sluice, sent files again';
/** A rescan has this many times the files. */
const rescanTimes = 10;
const library = pathToFileURL(new URL('../../dist/library.js', import.meta.url).pathname).href;

export const bench = {
  name: 'knowledge',
  title: 'Markdown files into a knowledge base, and again',
  about: `
New files: 500 Markdown files are sent to \`POST /api/knowledge/:kb_id/documents\` of a \`sluice serve\` with default
settings; then the run is started, and the clock stops when it has completed: read, cut into chunks, embedded by the
local embedder, written and searchable. Against it the same embedder in a process of its own that does nothing else:
the same chunks, with the best number in a call and of calls at a time. Both have the model loaded.

Again: a run over 5,000 Markdown files that have not changed since the last one, in a folder of the server, or sent
before over HTTP. Against the folder \`index()\` of LangChain.js with its record manager on the same PostgreSQL and a
vector store that does nothing, over the same folder, one document per file and without a splitter; both look for
files that are gone.`,
  size: 500,
  metrics: [
    { key: chunks, title: 'chunks/s', better: 'more' },
    { key: documents, title: 'documents/s', better: 'more' },
  ],
  sweeps: [
    {
      contender: 'embedder',
      candidates: [16, 32, 64].map((textsPerCall) => ({ textsPerCall, callsInFlight: 2 })),
      measure: sweepEmbedder,
    },
    {
      contender: 'langchain',
      candidates: [100, 500, 1_000, 2_500].map((batchSize) => ({ batchSize })),
      measure: sweepLangchain,
    },
  ],
  async open({ server, size, settings }) {
    const scratch = await makeScratch();
    const folder = join(scratch.path, tenantId, 'documents');
    const old = markdownFiles(size * rescanTimes, 2);
    await writeMarkdownFiles(folder, old);
    const database = await server.sluiceDatabase();
    const serve = await startSluice({ database, scratch });
    const peerDatabase = await server.emptyDatabase();
    const peer = await startLangchain({ database: peerDatabase, folder, best: settings.langchain });
    const context = { database, serve, scratch, count: old.length };
    const folderKb = await firstScan(context, { sources: [{ type: 'folder', path: 'documents' }] });
    const filesKb = await firstScan(context, { files: old });
    const made = { files: markdownFiles(size, 1), texts: null };
    await warmUp(context);
    return {
      contenders: [
        { label: sluiceIndex, measure: () => measureIndex(context, made) },
        {
          label: alone,
          settings: settings.embedder,
          measure: () => measureAlone({ scratch, best: settings.embedder }, made),
        },
        { label: folderRescan, measure: () => measureRescan(context, folderKb) },
        { label: filesRescan, measure: () => measureRescan(context, filesKb) },
        {
          label: langchain,
          settings: settings.langchain,
          measure: () => measureLangchain(peer, { database: peerDatabase, count: old.length }),
        },
      ],
      async close() {
        await Promise.all([serve.stop(), peer.stop()]);
        await scratch.remove();
      },
    };
  },
  targets: [
    {
      text: 'new files at 95 % of the embedder alone',
      judge(figureOf) {
        const share = figureOf(sluiceIndex, chunks) / figureOf(alone, chunks);
        return { reached: share >= 0.95, figure: `${format(share * 100)} %` };
      },
    },
    {
      text: 'folder again at least twice as fast as LangChain.js',
      judge(figureOf) {
        const ratio = figureOf(folderRescan, documents) / figureOf(langchain, documents);
        return { reached: ratio >= 2, figure: `${format(ratio)} times` };
      },
    },
  ],
};

/** With a worker in the process, and an embedder that costs nothing beside the local one. */
async function startSluice({ database, scratch }) {
  const config = `import { defineEmbedder } from ${JSON.stringify(library)};
const embed = (texts) => texts.map(() => [1, 0, 0, 0]);
export default { embedders: [defineEmbedder({ name: 'nothing', model: 'nothing-1', dimensions: 4, embed })] };
`;
  await writeFile(join(scratch.path, 'sluice.config.mjs'), config);
  return startServe({
    database,
    hasWorker: true,
    dataDir: scratch.path,
    settings: { KNOWLEDGE_FOLDER_ROOT: scratch.path },
  });
}

/** The model is loaded by the first run. */
async function warmUp({ database, serve }) {
  const kbId = await createKb(serve, { name: 'Warm-up' });
  await addDocuments(serve, { kbId, files: markdownFiles(20, 3) });
  await runKb(serve, { database, kbId });
}

async function measureIndex({ database, serve }, made) {
  const kbId = await createKb(serve, { name: 'New files' });
  await addDocuments(serve, { kbId, files: made.files });
  await flushWrites(database);
  const { counters, seconds } = await runKb(serve, { database, kbId });
  const stored = await listEmbedded(database, kbId);
  if (counters.docs_seen !== made.files.length || stored.length !== counters.chunks_processed) {
    throw new Error(`${stored.length} chunks are stored after ${JSON.stringify(counters)}`);
  }
  made.texts ??= stored;
  if (made.texts.length !== stored.length) throw new Error('The same files gave another number of chunks');
  return { [chunks]: stored.length / seconds, [documents]: null };
}

async function measureAlone({ scratch, best }, { texts }) {
  const textsFile = join(scratch.path, 'texts.json');
  await writeFile(textsFile, JSON.stringify(texts));
  let told = null;
  const embedder = await startContender('embedder.mjs', { textsFile, best }, (message) => {
    told = message;
  });
  try {
    embedder.go();
    await until('all chunks are embedded', () => told !== null, { everyMs: 50, limitMs: 1_800_000 });
    if (told.count !== texts.length) throw new Error(`Only ${told.count} of ${texts.length} were embedded`);
    return { [chunks]: told.count / told.seconds, [documents]: null };
  } finally {
    await embedder.stop();
  }
}

/** The chunks as the default settings of a knowledge base make them. */
async function sweepEmbedder({ size }, best) {
  const { createChunker } = await import('../../dist/modules/ingest/knowledge/chunkers/create-chunker.js');
  const { loadTokenCounter } = await import('../../dist/modules/ingest/knowledge/embedders/local-assets.js');
  const { chunkerOf } = await import('../../dist/modules/ingest/knowledge/bases/form.js');
  const settings = chunkerOf(undefined, { provider: 'local' });
  const chunker = createChunker(settings, { countTokens: await loadTokenCounter() });
  const texts = markdownFiles(size, 1).flatMap(({ content }) =>
    [...chunker.chunks(content)].map(({ text }) => text),
  );
  const scratch = await makeScratch();
  try {
    return (await measureAlone({ scratch, best }, { texts }))[chunks];
  } finally {
    await scratch.remove();
  }
}

async function firstScan({ database, serve, count }, { sources = [], files = [] }) {
  const embedder = { provider: 'custom', name: 'nothing' };
  const kbId = await createKb(serve, { name: 'Again', sources, embedder });
  await addDocuments(serve, { kbId, files });
  const { counters } = await runKb(serve, { database, kbId });
  if (counters.docs_seen !== count) throw new Error(`The first scan saw ${counters.docs_seen} of ${count}`);
  // Files younger than two seconds are read again before their stamps are trusted; the peer has a second
  // scan as well.
  await runKb(serve, { database, kbId });
  return kbId;
}

async function measureRescan({ database, serve, count }, kbId) {
  await flushWrites(database);
  const { counters, seconds } = await runKb(serve, { database, kbId });
  if (counters.docs_unchanged !== count) {
    throw new Error(`The rescan found ${counters.docs_unchanged} of ${count} unchanged`);
  }
  return { [chunks]: null, [documents]: count / seconds };
}

async function startLangchain({ database, folder, best }) {
  const contender = await startContender(
    'langchain-index.mjs',
    { ownerUrl: database.ownerUrl, folder, best },
    (message) => {
      contender.told = message;
    },
  );
  contender.told = null;
  return contender;
}

async function measureLangchain(peer, { database, count }) {
  await flushWrites(database);
  peer.told = null;
  peer.go();
  await until('LangChain.js has scanned', () => peer.told !== null, { everyMs: 5 });
  const { count: unchanged, changed, seconds } = peer.told;
  if (unchanged !== count || changed !== 0) {
    throw new Error(`LangChain.js found ${unchanged} of ${count} unchanged and changed ${changed}`);
  }
  return { [chunks]: null, [documents]: count / seconds };
}

async function sweepLangchain({ server, size }, best) {
  const scratch = await makeScratch();
  const database = await server.emptyDatabase();
  try {
    const files = markdownFiles(size * rescanTimes, 2);
    await writeMarkdownFiles(scratch.path, files);
    const peer = await startLangchain({ database, folder: scratch.path, best });
    try {
      return (await measureLangchain(peer, { database, count: files.length }))[documents];
    } finally {
      await peer.stop();
    }
  } finally {
    await database.drop();
    await scratch.remove();
  }
}
