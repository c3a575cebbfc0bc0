import { join } from 'node:path';
import { startContender, until } from '../harness/children.mjs';
import { format } from '../harness/figures.mjs';
import { readExport, uploadCsv } from '../harness/http.mjs';
import { loadDoneItems } from '../harness/item-jobs.mjs';
import { watchMemory } from '../harness/memory.mjs';
import { flushWrites } from '../harness/postgres.mjs';
import { writeCsv } from '../harness/row-files.mjs';
import { makeScratch } from '../harness/scratch.mjs';
import { nodeFlags, startServe } from '../harness/sluice.mjs';

const maxRssMb = 400;
const maxGrowth = 1.25;
const rowsPerCycle = 100;

export const bench = {
  name: 'memory',
  title: 'Memory while rows go in and out, and while nothing happens',
  about: `
Resident memory of one process from its start, sampled every 50 ms from /proc: \`sluice serve\` while it takes in a
CSV of 1,000,000 rows and while it exports as many, and a worker over 10,000 cycles that find nothing to do. Peak is
the most that the process ever had. Growth is the median of the last third of the time over that of the middle
third: 1 is flat.`,
  size: 1_000_000,
  metrics: [
    { key: 'peakMb', title: 'peak RSS, MB', better: 'less' },
    { key: 'growth', title: 'growth', better: 'less' },
  ],
  async open({ server, size }) {
    const scratch = await makeScratch();
    const csv = join(scratch.path, 'rows.csv');
    await writeCsv(csv, size);
    const database = await server.sluiceDatabase();
    const jobId = await loadDoneItems(database, size);
    await flushWrites(database);
    const exporting = (exportFormat) => () =>
      whileServing(database, (serve) => readExport(serve, { jobId, exportFormat }));
    const cycles = Math.ceil(size / rowsPerCycle);
    return {
      contenders: [
        { label: 'Sluice, ingest', measure: () => whileIngesting(server, csv) },
        { label: 'Sluice, export CSV', measure: exporting('csv') },
        { label: 'Sluice, export XLSX', measure: exporting('xlsx') },
        { label: 'Sluice, idle worker', measure: () => whileIdle(server, { cycles, dataDir: scratch.path }) },
      ],
      close: scratch.remove,
    };
  },
  targets: [
    {
      text: `below ${maxRssMb} MB`,
      judge: (_figureOf, series) => worstOf(series, { key: 'peakMb', limit: maxRssMb, unit: 'MB' }),
    },
    {
      text: `flat (growth at most ${maxGrowth})`,
      judge: (_figureOf, series) => worstOf(series, { key: 'growth', limit: maxGrowth, unit: 'times' }),
    },
  ],
};

function worstOf(series, { key, limit, unit }) {
  const worst = series.toSorted((a, b) => b.summary[key].median - a.summary[key].median)[0];
  const figure = worst.summary[key].median;
  return { reached: figure <= limit, figure: `${format(figure)} ${unit}: ${worst.label}` };
}

async function whileIngesting(server, csv) {
  const database = await server.sluiceDatabase();
  try {
    return await whileServing(database, (serve) => uploadCsv(serve, csv));
  } finally {
    await database.drop();
  }
}

async function whileServing(database, work) {
  const serve = await startServe({ database });
  try {
    const memory = watchMemory(serve.pid);
    await work(serve);
    return memory.stop();
  } finally {
    await serve.stop();
  }
}

async function whileIdle(server, { cycles, dataDir }) {
  const database = await server.sluiceDatabase();
  let ran = null;
  const worker = await startContender(
    'idle-cycles.mjs',
    { ownerUrl: database.ownerUrl, dataDir, cycles },
    (message) => {
      if (message.is === 'handled') ran = message.count;
    },
    nodeFlags,
  );
  try {
    const memory = watchMemory(worker.child.pid);
    worker.go();
    await until(`${cycles} cycles have run`, () => ran === cycles, { everyMs: 20, limitMs: 600_000 });
    return memory.stop();
  } finally {
    await worker.stop();
    await database.drop();
  }
}
