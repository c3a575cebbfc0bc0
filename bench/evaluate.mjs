// node bench/evaluate.mjs <folder of a collection>… [--no-build]
// How well the default search finds the documents of published collections, beside a BM25 that is not ours. Prints a
// table and publishes nothing; `npm run bench -- recall --collection <folder>` writes the page.
import { build } from '../scripts/build.mjs';
import { endAll, endOnSignals } from './harness/cleanup.mjs';
import { readCollection } from './harness/collection.mjs';
import { installPeers } from './harness/install.mjs';
import { startServer } from './harness/postgres.mjs';
import { startServe } from './harness/sluice.mjs';

const words = process.argv.slice(2);
const folders = words.filter((word) => !word.startsWith('--'));
if (folders.length === 0)
  throw new Error('Usage: node bench/evaluate.mjs <folder of a collection>… [--no-build]');
endOnSignals();
installPeers();
// Only now: the peer may have been installed by this run.
const { collectionModes, indexCollection, judgeMode, judgePeer } = await import(
  './harness/collection-sluice.mjs'
);
if (!words.includes('--no-build')) {
  const built = await build();
  if (built.status === 'failed') throw new Error(`The build failed:\n${built.message}`);
}
const server = await startServer();
try {
  const database = await server.sluiceDatabase();
  const settings = { RATE_LIMIT_PER_MINUTE: '100000', TENANT_REQUESTS_PER_MINUTE: '100000' };
  const serve = await startServe({ database, hasWorker: true, settings });
  for (const folder of folders) await evaluate({ serve, database, collection: await readCollection(folder) });
  await serve.stop();
} finally {
  await endAll();
  await server.stop();
}

async function evaluate({ serve, database, collection }) {
  const { kbId, passages, seconds } = await indexCollection({ serve, database, collection });
  const { name, documents, queries } = collection;
  console.log(
    `\n${name}: ${documents.length} documents, ${passages} passages in ${seconds.toFixed(1)} s, ${queries.length} questions`,
  );
  const rows = {};
  for (const mode of collectionModes)
    rows[`Sluice, ${mode}`] = await judgeMode({ serve, collection, kbId, mode });
  rows['MiniSearch BM25'] = await judgePeer({ database, collection, kbId });
  console.table(rows);
}
