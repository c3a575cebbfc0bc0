// A collection through the product: documents in over HTTP, default settings, searched over HTTP.
import { documentsOf, judge } from './collection.mjs';
import { addDocuments, createKb, runKb, search } from './knowledge-sluice.mjs';
import { openPeer } from './peer-bm25.mjs';

export const collectionModes = ['vector', 'text', 'hybrid'];
/** As many as a search returns: several passages of a document count once. */
const resultsAskedFor = 50;

/** Returns the knowledge base and what its run took. */
export async function indexCollection({ serve, database, collection }) {
  const kbId = await createKb(serve, { name: collection.name });
  const files = collection.documents.map(({ id, title, text }) => ({
    name: `${id}.md`,
    content: title === '' ? text : `# ${title}\n\n${text}\n`,
  }));
  await addDocuments(serve, { kbId, files });
  const { counters, seconds } = await runKb(serve, { database, kbId });
  return { kbId, passages: counters.chunks_processed, seconds };
}

export async function judgeMode({ serve, collection, kbId, mode }) {
  const ranked = [];
  const tookMs = [];
  for (const { text } of collection.queries) {
    const startedAtMs = performance.now();
    const results = await search(serve, { kbId, query: text, mode, limit: resultsAskedFor });
    tookMs.push(performance.now() - startedAtMs);
    ranked.push(documentsOf(results.map(({ document }) => idOf(document.uri))));
  }
  return { ...judge(collection.queries, ranked), medianMs: tookMs.sort((a, b) => a - b)[tookMs.length >> 1] };
}

/** The peer gets the passages that Sluice has made. */
export async function judgePeer({ database, collection, kbId }) {
  const passages = await listPassages(database, kbId);
  const ask = openPeer(passages.map(({ id, uri, text }) => ({ id, document: idOf(uri), text })));
  const ranked = collection.queries.map(({ text }) => documentsOf(ask(text)));
  return judge(collection.queries, ranked);
}

/** With the titles and headings that Sluice indexes with them. */
export async function listPassages(database, kbId) {
  const rows = await database.query(
    `select d.uri, concat_ws(E'\\n', nullif(e.context, ''), e.text) as text
       from knowledge_documents d
       join knowledge_links l using (tenant_id, kb_id, document_id, revision)
       join embeddings_index e using (tenant_id, kb_id, generation, chunk_id)
      where d.kb_id = $1
      order by e.chunk_id, d.uri`,
    [kbId],
  );
  return rows.map((row, id) => ({ ...row, id }));
}

function idOf(uri) {
  return /([^/:]+)\.md$/.exec(uri)?.[1] ?? uri;
}
