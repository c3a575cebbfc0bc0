import { makeCorpus } from '../../test/recall/corpus.ts';
import { measureRecall, modes, resultsAskedFor } from '../../test/recall/recall.ts';
import { readCollection } from '../harness/collection.mjs';
import {
  collectionModes,
  indexCollection,
  judgeMode,
  judgePeer,
  listPassages,
} from '../harness/collection-sluice.mjs';
import { format } from '../harness/figures.mjs';
import { addDocuments, createKb, runKb, search } from '../harness/knowledge-sluice.mjs';
import { openPeer } from '../harness/peer-bm25.mjs';
import { startServe } from '../harness/sluice.mjs';

const metrics = [
  { kind: 'question', title: 'questions' },
  { kind: 'paraphrase', title: 'in other words' },
  { kind: 'keyword', title: 'names and numbers' },
].flatMap(({ kind, title }) => [
  { kind, key: `${kind}First`, of: 'first', title: `${title}, first` },
  { kind, key: `${kind}AmongFive`, of: 'amongFive', title: `${title}, among 5` },
]);
const label = (mode) => `Sluice, ${mode}`;
const peerLabel = 'MiniSearch, BM25';
/** Of the published collections whose figures are known; the others are held to the modes alone. */
const leastNdcg = new Map([['cranfield', 0.48]]);

export const bench = {
  name: 'recall',
  title: 'What a search finds',
  about: `
300 documents (Markdown, text, HTML, PDF, DOCX and captions, the same number of each) are indexed by a \`sluice
serve\` with default settings and its local embedder. Then 120 searches are made, each of which one passage answers,
and no other document: 50 questions of somebody who knows what the subject is called, the same 50 of somebody who does
not (no word in common but the most frequent ones), and 20 names, codes and numbers. Each passage and each name has a
neighbour in another document that is about the same and is not the answer. The figures are per cent of the searches
whose answer is the first result, or among the first five. MiniSearch, a BM25 library with Porter's stemmer and a list
of stop words, ranks the same passages with the same titles and headings. The corpus is in
[test/recall](../../test/recall); \`npm test\` holds the hybrid search to it.`,
  size: 300,
  metrics: metrics.map(({ key, title }) => ({ key, title: `${title}, %`, better: 'more' })),
  async open({ server, size, collections }) {
    const corpus = makeCorpus(size);
    const database = await server.sluiceDatabase();
    const serve = await startServe({
      database,
      hasWorker: true,
      settings: { RATE_LIMIT_PER_MINUTE: '100000', TENANT_REQUESTS_PER_MINUTE: '100000' },
    });
    const judged = [];
    for (const folder of collections) judged.push(await judgeCollection({ serve, database, folder }));
    const ours = modes.map((mode) => ({
      label: label(mode),
      measure: () => measure({ database, serve, corpus, mode }),
    }));
    const peer = { label: peerLabel, measure: () => measurePeer({ database, serve, corpus }) };
    return {
      describe: () => describeCollections(judged),
      verdicts: judged.flatMap(verdictsOn),
      contenders: [...ours, peer],
      close: serve.stop,
    };
  },
  targets: [
    ...[
      { kind: 'question', least: [90, 98] },
      { kind: 'paraphrase', least: [75, 93] },
      { kind: 'keyword', least: [90, 98] },
    ].map(({ kind, least }) => ({
      text: `hybrid: ${least[0]} % of the ${kind}s first, ${least[1]} % among five`,
      judge(figureOf) {
        const [first, amongFive] = [`${kind}First`, `${kind}AmongFive`].map((key) =>
          figureOf(label('hybrid'), key),
        );
        return {
          reached: first >= least[0] && amongFive >= least[1],
          figure: `${format(first)} %, ${format(amongFive)} %`,
        };
      },
    })),
    ...metrics.map(({ key, title }) => ({
      text: `hybrid: ${title} no worse than by meaning or by words alone`,
      judge(figureOf) {
        const [vector, text, hybrid] = modes.map((mode) => figureOf(label(mode), key));
        const figure = `${format(hybrid)} %; ${format(vector)} % and ${format(text)} % alone`;
        return { reached: hybrid >= Math.max(vector, text), figure };
      },
    })),
  ],
};

async function judgeCollection({ serve, database, folder }) {
  const collection = await readCollection(folder);
  const { kbId, passages } = await indexCollection({ serve, database, collection });
  const rows = [];
  for (const mode of collectionModes) {
    rows.push({ label: label(mode), ...(await judgeMode({ serve, collection, kbId, mode })) });
  }
  rows.push({ label: peerLabel, ...(await judgePeer({ database, collection, kbId })) });
  return { collection, passages, rows };
}

/** The targets of a collection; it is not part of the repository, so they count only in runs that have it. */
function verdictsOn({ collection: { name }, rows }) {
  const ndcgOf = (mode) => rows.find((row) => row.label === label(mode)).ndcg;
  const [vector, text, hybrid] = modes.map(ndcgOf);
  const least = leastNdcg.get(name);
  const verdicts = [
    {
      target: `${name}: hybrid no worse than by meaning or by words alone`,
      reached: hybrid >= Math.max(vector, text),
      figure: `nDCG@10 ${hybrid.toFixed(3)}; ${vector.toFixed(3)} and ${text.toFixed(3)} alone`,
    },
  ];
  if (least === undefined) return verdicts;
  const figure = hybrid.toFixed(3);
  return [
    ...verdicts,
    { target: `${name}: hybrid nDCG@10 at least ${least}`, reached: hybrid >= least, figure },
  ];
}

/** Lines of the page. */
function describeCollections(judged) {
  return judged.flatMap(({ collection: { name, documents, queries }, passages, rows }) => [
    '',
    `Published collection ${name}: ${documents.length} documents in ${passages} passages, ${queries.length} questions.`,
    'The best passage of a document counts. MiniSearch ranks the same passages.',
    '',
    '| | nDCG@10 | recall@10 |',
    '| --- | ---: | ---: |',
    ...rows.map(({ label: who, ndcg, recall }) => `| ${who} | ${ndcg.toFixed(3)} | ${recall.toFixed(3)} |`),
  ]);
}

/** A new knowledge base each time: the order in which chunks come in must not matter. */
async function measure({ database, serve, corpus, mode }) {
  const kbId = await indexCorpus({ database, serve, corpus });
  return recallOf(corpus, mode, (query) => search(serve, { kbId, query, mode, limit: resultsAskedFor }));
}

/** The peer gets the passages of a knowledge base of its own. */
async function measurePeer({ database, serve, corpus }) {
  const kbId = await indexCorpus({ database, serve, corpus });
  const passages = await listPassages(database, kbId);
  const texts = new Map(passages.map(({ id, text }) => [id, text]));
  const ask = openPeer(passages.map(({ id, text }) => ({ id, document: id, text })));
  return recallOf(corpus, 'text', async (query) =>
    ask(query)
      .slice(0, resultsAskedFor)
      .map((id) => ({ text: texts.get(id) })),
  );
}

async function indexCorpus({ database, serve, corpus }) {
  const kbId = await createKb(serve, { name: 'Recall' });
  await addDocuments(serve, { kbId, files: corpus.files });
  const { counters } = await runKb(serve, { database, kbId });
  if (counters.docs_seen !== corpus.files.length) {
    throw new Error(`Only ${counters.docs_seen} of ${corpus.files.length} documents were read`);
  }
  return kbId;
}

async function recallOf({ queries }, mode, ask) {
  const measured = await measureRecall(queries, ask, [mode]);
  return Object.fromEntries(
    metrics.map(({ kind, key, of }) => [key, 100 * measured.find((each) => each.kind === kind)[of]]),
  );
}
