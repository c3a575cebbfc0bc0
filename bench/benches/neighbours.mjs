import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startContender, until } from '../harness/children.mjs';
import { format, percentile } from '../harness/figures.mjs';
import { saveExport, uploadCsv } from '../harness/http.mjs';
import { addDocuments, createKb, runKb, search } from '../harness/knowledge-sluice.mjs';
import { markdownFiles } from '../harness/markdown-files.mjs';
import { writeCsv } from '../harness/row-files.mjs';
import { bearerOf, startServe } from '../harness/sluice.mjs';

const quiet = 'Quiet';
const beside = 'Beside a greedy tenant';
const requests = 150;
const warmUpRequests = 15;
const rowsOfGreedy = 5_000;
const keysOfGreedy = 20;
const kinds = ['me', 'search', 'upload'];
const kbId = 'notes';
const mostTimes = 3;
const moreMs = 50;

export const bench = {
  name: 'neighbours',
  title: 'A tenant beside one that sends as much as it can',
  about: `
Tenant B asks \`sluice serve --no-worker\` with default settings for \`GET /api/me\`, a hybrid search and an upload of ten
rows, one after the other, ${requests} of each. First alone, then beside tenant A, which has ${keysOfGreedy} users and keeps 40 searches,
8 CSV files and 8 workbooks of ${rowsOfGreedy.toLocaleString('en-US')} rows on their way at all times, and opens 200 live streams. A runs in a process of
its own on the same machine, and with the server, PostgreSQL and B it shares the machine's cores.`,
  size: 200,
  metrics: kinds.flatMap((kind) => [
    { key: `${kind}P50`, title: `${kind} p50 ms`, better: 'less' },
    { key: `${kind}P99`, title: `${kind} p99 ms`, better: 'less' },
  ]),
  async open({ server, size }) {
    const stage = await openStage(server, size);
    return {
      contenders: [
        { label: quiet, measure: () => measure(stage) },
        { label: beside, measure: () => measureBeside(stage) },
      ],
      close: stage.close,
    };
  },
  targets: kinds.map((kind) => ({
    text: `p99 of ${kind} within ${mostTimes} times its quiet value and ${moreMs} ms`,
    judge(figureOf) {
      const most = mostTimes * figureOf(quiet, `${kind}P99`) + moreMs;
      const figure = figureOf(beside, `${kind}P99`);
      return { reached: figure <= most, figure: `${format(figure)} ms of ${format(most)} ms` };
    },
  })),
};

/** Both tenants have a knowledge base of the same size; the files of the greedy one are on disk. */
async function openStage(server, size) {
  const database = await server.sluiceDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-neighbours-'));
  const [csvPath, xlsxPath, smallPath] = ['rows.csv', 'rows.xlsx', 'small.csv'].map((name) =>
    join(folder, name),
  );
  await writeCsv(csvPath, rowsOfGreedy);
  await writeCsv(smallPath, 10);
  const first = await startServe({ database, hasWorker: true });
  for (const tenantId of ['greedy', 'neighbour']) {
    const tenant = { ...first, headers: await bearerOf({ tenantId }) };
    await createKb(tenant, { kb_id: kbId, name: 'Notes' });
    await addDocuments(tenant, { kbId, files: markdownFiles(size, 7) });
    await runKb(tenant, { database, kbId });
  }
  const greedy = { ...first, headers: await bearerOf({ tenantId: 'greedy' }) };
  const jobId = await uploadCsv(greedy, csvPath);
  await until('the rows of the workbook are done', async () => {
    const response = await fetch(`${greedy.url}/api/jobs/${jobId}`, { headers: greedy.headers });
    return (await response.json()).status === 'success';
  });
  await saveExport(greedy, { jobId, exportFormat: 'xlsx', path: xlsxPath });
  await first.stop();
  const serve = await startServe({ database });
  const close = async () => {
    await serve.stop();
    await rm(folder, { recursive: true, force: true });
  };
  const neighbour = { ...serve, headers: await bearerOf({ tenantId: 'neighbour' }) };
  return { serve, neighbour, csvPath, xlsxPath, smallPath, close };
}

async function measureBeside(stage) {
  const tokens = [];
  for (let n = 0; n < keysOfGreedy; n += 1) {
    const { authorization } = await bearerOf({ tenantId: 'greedy', userId: `key-${n}` });
    tokens.push(authorization.replace('Bearer ', ''));
  }
  const answers = new Map();
  const { csvPath, xlsxPath } = stage;
  const settings = { url: stage.serve.url, tokens, kbId, csvPath, xlsxPath };
  const attack = await startContender('greedy-tenant.mjs', settings, ({ what, status }) =>
    answers.set(`${what} ${status}`, (answers.get(`${what} ${status}`) ?? 0) + 1),
  );
  try {
    attack.go();
    await until('the greedy tenant is at work', () => (answers.get('search 200') ?? 0) > 10);
    const figures = await measure(stage);
    console.log(`  the greedy tenant got ${[...answers].map(([what, n]) => `${what}: ${n}`).join(', ')}`);
    return figures;
  } finally {
    await attack.stop();
  }
}

async function measure({ neighbour, smallPath }) {
  const calls = {
    me: async () => {
      const answer = await fetch(`${neighbour.url}/api/me`, { headers: neighbour.headers });
      await answer.arrayBuffer();
      if (!answer.ok) throw new Error(`/api/me returned ${answer.status}`);
    },
    search: () =>
      search(neighbour, { kbId, query: 'Which volume is about ships?', mode: 'hybrid', limit: 10 }),
    upload: () => uploadCsv(neighbour, smallPath),
  };
  const figures = {};
  for (const kind of kinds) {
    const timesMs = [];
    for (let at = 0; at < warmUpRequests + requests; at += 1) {
      const startedAtMs = performance.now();
      await calls[kind]();
      timesMs.push(performance.now() - startedAtMs);
    }
    const measured = timesMs.slice(warmUpRequests);
    figures[`${kind}P50`] = percentile(measured, 0.5);
    figures[`${kind}P99`] = percentile(measured, 0.99);
  }
  return figures;
}
