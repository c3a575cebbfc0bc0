import { format, percentile } from '../harness/figures.mjs';
import { loadDoneItems } from '../harness/item-jobs.mjs';
import { flushWrites } from '../harness/postgres.mjs';
import { cursorAfter, startServe } from '../harness/sluice.mjs';

const pageSize = 100;
const requests = 500;
const warmUpRequests = 100;

export const bench = {
  name: 'pages',
  title: 'The first page and a page far behind it',
  about: `
Pages of 100 rows of one job, over HTTP from \`sluice serve\` with default settings, by keyset as \`nextCursor\`
gives it: the first page, and the last page that the job has (page 50,000 of 5,000,000 rows). A round is 500
requests, one after the other; both kinds of page take turns.`,
  size: 5_000_000,
  metrics: [
    { key: 'p50', title: 'p50 ms', better: 'less' },
    { key: 'p99', title: 'p99 ms', better: 'less' },
  ],
  async open({ server, size }) {
    const database = await server.sluiceDatabase();
    const jobId = await loadDoneItems(database, size);
    await flushWrites(database);
    const serve = await startServe({
      database,
      settings: { RATE_LIMIT_PER_MINUTE: '10000000', TENANT_REQUESTS_PER_MINUTE: '10000000' },
    });
    const lastPage = Math.ceil(size / pageSize);
    const firstRow = (lastPage - 1) * pageSize + 1;
    const [before] = await database.query('select id from job_items where job_id = $1 and row_no = $2', [
      jobId,
      firstRow - 1,
    ]);
    const after = before ? Number(before.id) : 0;
    return {
      contenders: [
        { label: 'Sluice, page 1', measure: await pageReader(serve, { jobId, id: 0, firstRow: 1 }) },
        {
          label: `Sluice, last page`,
          note: `page ${lastPage.toLocaleString('en-US')}`,
          measure: await pageReader(serve, { jobId, id: after, firstRow }),
        },
      ],
      close: serve.stop,
    };
  },
  targets: [
    {
      text: 'p99 of the last page within 1.5 times that of the first',
      judge(figureOf) {
        const ratio = figureOf('Sluice, last page', 'p99') / figureOf('Sluice, page 1', 'p99');
        return { reached: ratio <= 1.5, figure: `${format(ratio)} times` };
      },
    },
  ],
};

async function pageReader(serve, { jobId, id, firstRow }) {
  const cursor = await cursorAfter({ jobId, id });
  const url = `${serve.url}/api/jobs/${jobId}/items?pageSize=${pageSize}&after=${encodeURIComponent(cursor)}`;
  return async () => {
    const timesMs = [];
    for (let at = 0; at < warmUpRequests + requests; at += 1) {
      const startedAtMs = performance.now();
      const answer = await fetch(url, { headers: serve.headers });
      const body = await answer.text();
      timesMs.push(performance.now() - startedAtMs);
      if (at === 0) checkPage(answer, { body, firstRow });
    }
    const measured = timesMs.slice(warmUpRequests);
    return { p50: percentile(measured, 0.5), p99: percentile(measured, 0.99) };
  };
}

function checkPage(answer, { body, firstRow }) {
  const row = answer.ok ? JSON.parse(body).data[0]?.rowNo : undefined;
  if (row !== firstRow)
    throw new Error(`The page begins with row ${row} instead of ${firstRow}: ${body.slice(0, 500)}`);
}
