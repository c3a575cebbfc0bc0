// `index()` of LangChain.js over a folder: each run reads all files and finds that none has changed.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PostgresRecordManager } from '@langchain/community/indexes/postgres';
import { Document } from '@langchain/core/documents';
import { index } from '@langchain/core/indexing';
import pg from 'pg';
import { settings } from './protocol.mjs';

const { ownerUrl, folder, best } = settings;
const pool = new pg.Pool({ connectionString: ownerUrl, max: 4 });
const recordManager = new PostgresRecordManager('bench', { pool });
// An embedder and a store that cost nothing: unchanged files reach neither.
const vectorStore = { addDocuments: async () => [], delete: async () => {} };
const readsAtOnce = 64;

await recordManager.createSchema();
const { numAdded } = await scan();
await scan();
process.once('disconnect', () => process.exit(0));
process.on('message', async () => {
  const startedAtMs = performance.now();
  const { numSkipped, numAdded: added, numDeleted: deleted } = await scan();
  const seconds = (performance.now() - startedAtMs) / 1000;
  process.send({ is: 'handled', count: numSkipped, changed: added + deleted, seconds });
});
process.send({ is: 'ready', numAdded });

async function scan() {
  const docsSource = await loadFolder();
  return index({
    docsSource,
    recordManager,
    vectorStore,
    // Full: files deleted from the folder are deleted from the index, as in Sluice.
    options: { cleanup: 'full', sourceIdKey: 'source', batchSize: best.batchSize },
  });
}

/** Several files at a time, which LangChain's own loader of folders does not do. */
async function loadFolder() {
  const names = (await readdir(folder)).toSorted();
  const documents = [];
  for (let from = 0; from < names.length; from += readsAtOnce) {
    const group = names.slice(from, from + readsAtOnce);
    documents.push(
      ...(await Promise.all(
        group.map(async (source) => {
          const pageContent = await readFile(join(folder, source), 'utf8');
          return new Document({ pageContent, metadata: { source } });
        }),
      )),
    );
  }
  return documents;
}
