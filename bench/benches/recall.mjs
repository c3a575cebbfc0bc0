import { makeCorpus } from '../../test/recall/corpus.ts';
import { measureRecall, modes, resultsAskedFor } from '../../test/recall/recall.ts';
import { readCollection } from '../harness/collection.mjs';
import { collectionModes, indexCollection, judgeMode, judgePeer } from '../harness/collection-sluice.mjs';
import { format } from '../harness/figures.mjs';
import { addDocuments, createKb, runKb, search } from '../harness/knowledge-sluice.mjs';
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

export const bench = {
  name: 'recall',
  title: 'What a search finds',
  about: `
300 documents (Markdown, text, HTML, PDF, DOCX and captions, the same number of each) are indexed by a \`sluice
serve\` with default settings and its local embedder. Then 120 searches are made, each of which one passage answers,
and no other document: 50 questions of somebody who knows what the subject is called, the same 50 of somebody who does
not (no word in common but the most frequent ones), and 20 names, codes and numbers. Each passage and each name has a
neighbour in another document that is about the same and is not the answer. The figures are per cent of the searches
whose answer is the first result, or among the first five. The corpus is in
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
    return {
      describe: () => describeCollections(judged),
      contenders: modes.map((mode) => ({
        label: label(mode),
        measure: () => measure({ database, serve, corpus, mode }),
      })),
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
    {
      text: 'hybrid: paraphrases no worse than by meaning alone',
      judge(figureOf) {
        const [hybrid, vector] = ['hybrid', 'vector'].map((mode) =>
          figureOf(label(mode), 'paraphraseAmongFive'),
        );
        return { reached: hybrid >= vector, figure: `${format(hybrid)} % and ${format(vector)} %` };
      },
    },
  ],
};

async function judgeCollection({ serve, database, folder }) {
  const collection = await readCollection(folder);
  const { kbId, passages } = await indexCollection({ serve, database, collection });
  const rows = [];
  for (const mode of collectionModes) {
    rows.push({ label: label(mode), ...(await judgeMode({ serve, collection, kbId, mode })) });
  }
  rows.push({ label: 'MiniSearch, BM25', ...(await judgePeer({ database, collection, kbId })) });
  return { collection, passages, rows };
}

/** Lines of the page. Not held to a target: the collections are not part of the repository. */
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
  const kbId = await createKb(serve, { name: 'Recall' });
  await addDocuments(serve, { kbId, files: corpus.files });
  const { counters } = await runKb(serve, { database, kbId });
  if (counters.docs_seen !== corpus.files.length) {
    throw new Error(`Only ${counters.docs_seen} of ${corpus.files.length} documents were read`);
  }
  const measured = await measureRecall(
    corpus.queries,
    (query) => search(serve, { kbId, query, mode, limit: resultsAskedFor }),
    [mode],
  );
  return Object.fromEntries(
    metrics.map(({ kind, key, of }) => [key, 100 * measured.find((each) => each.kind === kind)[of]]),
  );
}
