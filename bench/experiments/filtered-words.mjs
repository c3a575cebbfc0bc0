// What it costs, and what it changes, that a search with a filter stops at 50 passages by their words instead of 200.
// Usage: node bench/experiments/filtered-words.mjs FOLDER [--copies 4] [--modes text,hybrid]; FOLDER is a published test
// collection. Needs a build and Debian's PostgreSQL. The collection is indexed several times over, so that a filter
// leaves more passages than are compared one by one; a document counts whichever of its copies is found.
import { parseArgs } from 'node:util';
import { installPeers } from '../harness/install.mjs';

installPeers();
const { documentsOf, judge, readCollection } = await import('../harness/collection.mjs');
const { endAll, endOnSignals } = await import('../harness/cleanup.mjs');
const { percentile } = await import('../harness/figures.mjs');
const { startServer } = await import('../harness/postgres.mjs');
const { startServe } = await import('../harness/sluice.mjs');
const { addDocuments, createKb, runKb } = await import('../harness/knowledge-sluice.mjs');

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { copies: { type: 'string', default: '4' }, modes: { type: 'string', default: 'text,hybrid' } },
});
const collection = await readCollection(positionals[0]);
const copies = Number(values.copies);
endOnSignals();
const server = await startServer();
try {
  const database = await server.sluiceDatabase();
  const settings = { RATE_LIMIT_PER_MINUTE: '100000', TENANT_REQUESTS_PER_MINUTE: '100000' };
  const serve = await startServe({ database, hasWorker: true, settings });
  const kbId = await createKb(serve, { name: 'Filtered' });
  for (let copy = 1; copy <= copies; copy += 1) {
    const files = collection.documents.map((document) => ({
      name: `${document.id}-${copy}.md`,
      content: contentOf(document, copy),
    }));
    await addDocuments(serve, { kbId, files });
  }
  const { counters } = await runKb(serve, { database, kbId });
  console.log(`${counters.docs_seen} documents, ${counters.chunks_processed} passages`);
  for (const [what, filter] of [
    ['without a filter', undefined],
    ['a filter that all match', { copy: { gte: 1 } }],
    ['a filter that half match', { half: 0 }],
  ]) {
    for (const mode of values.modes.split(','))
      console.log(await measure(serve, { kbId, what, filter, mode }));
  }
  await serve.stop();
} finally {
  await endAll();
  await server.stop();
}

/** Each passage has another text in each copy, or it would be one passage in several documents. */
function contentOf({ id, title, text }, copy) {
  const marked = `${text} `.replaceAll(/\.\s+/g, ` (${copy}). `);
  return `---\ncopy: ${copy}\nhalf: ${Number(id) % 2}\n---\n# ${title} (${copy})\n\n${marked} (${copy})\n`;
}

async function measure(serve, { kbId, what, filter, mode }) {
  const ranked = [];
  const tookMs = [];
  for (const { text } of collection.queries) {
    const startedAtMs = performance.now();
    const answer = await fetch(`${serve.url}/api/knowledge/${kbId}/search`, {
      method: 'POST',
      headers: { ...serve.headers, 'content-type': 'application/json' },
      body: JSON.stringify({ query: text, mode, limit: 50, merge: false, ...(filter ? { filter } : {}) }),
    });
    if (answer.status !== 200) throw new Error(`A search answered ${answer.status}: ${await answer.text()}`);
    const { results } = await answer.json();
    tookMs.push(performance.now() - startedAtMs);
    ranked.push(documentsOf(results.map(({ document }) => /(\d+)-\d+\.md$/.exec(document.uri)?.[1])));
  }
  const isHalf = filter?.half === 0;
  const queries = collection.queries.map(({ gains }) => ({
    gains: isHalf ? new Map([...gains].filter(([id]) => Number(id) % 2 === 0)) : gains,
  }));
  const kept = queries.flatMap(({ gains }, at) => (gains.size > 0 ? [at] : []));
  const { ndcg, recall } = judge(
    kept.map((at) => queries[at]),
    kept.map((at) => ranked[at]),
  );
  const [p50, p95] = [0.5, 0.95].map((share) => percentile(tookMs, share).toFixed(0));
  return `${what}, ${mode}: nDCG@10 ${ndcg.toFixed(4)}, recall@10 ${recall.toFixed(4)}, p50 ${p50} ms, p95 ${p95} ms`;
}
