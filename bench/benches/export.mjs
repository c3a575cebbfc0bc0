import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { startContender, until } from '../harness/children.mjs';
import { format, secondsOf } from '../harness/figures.mjs';
import { readExport } from '../harness/http.mjs';
import { columns, loadDoneItems } from '../harness/item-jobs.mjs';
import { peakMb } from '../harness/memory.mjs';
import { flushWrites } from '../harness/postgres.mjs';
import { runPsql } from '../harness/psql.mjs';
import { makeScratch } from '../harness/scratch.mjs';
import { startServe } from '../harness/sluice.mjs';

const key = 'perSecond';
const maxRssMb = 300;

export const bench = {
  name: 'export',
  title: 'A million rows out, as CSV and XLSX',
  about: `
\`POST /api/jobs/:id/export\` of a \`sluice serve\` with default settings, read to the end by a client that throws
the bytes away. \`COPY TO\` writes the same rows with psql to a file: once the stored columns as they are (row
number, status and the result as JSON, which is what the CSV target is judged by), once with the result taken apart
into the same columns as the export. exceljs writes with its streaming writer, in a process of its own that reads
the rows by a cursor. Each measurement of memory has a new process; the figure is the most that the process ever
had.`,
  size: 1_000_000,
  metrics: [
    { key, title: 'rows/s', better: 'more' },
    { key: 'peakMb', title: 'peak RSS, MB', better: 'less' },
  ],
  async open({ server, size }) {
    const scratch = await makeScratch();
    const database = await server.sluiceDatabase();
    const jobId = await loadDoneItems(database, size);
    await flushWrites(database);
    const context = { server, database, jobId, size, scratch };
    return {
      contenders: [
        { label: 'Sluice, CSV', measure: () => measureSluice(context, 'csv') },
        { label: 'COPY TO, as stored', measure: () => measureCopy(context, 'result_json') },
        { label: 'COPY TO, same columns', measure: () => measureCopy(context, takenApart) },
        { label: 'Sluice, XLSX', measure: () => measureSluice(context, 'xlsx') },
        { label: 'exceljs', measure: () => measureExceljs(context) },
      ],
      close: scratch.remove,
    };
  },
  targets: [
    {
      text: 'CSV at least 40 % of COPY TO',
      judge(figureOf) {
        const share = figureOf('Sluice, CSV', key) / figureOf('COPY TO, as stored', key);
        return { reached: share >= 0.4, figure: `${format(share * 100)} %` };
      },
    },
    {
      text: 'XLSX at least 1.5 times exceljs',
      judge(figureOf) {
        const ratio = figureOf('Sluice, XLSX', key) / figureOf('exceljs', key);
        return { reached: ratio >= 1.5, figure: `${format(ratio)} times` };
      },
    },
    {
      text: `RSS below ${maxRssMb} MB`,
      judge(figureOf) {
        const most = Math.max(figureOf('Sluice, CSV', 'peakMb'), figureOf('Sluice, XLSX', 'peakMb'));
        return { reached: most < maxRssMb, figure: `${format(most)} MB` };
      },
    },
  ],
};

const takenApart = columns.map((name) => `result_json ->> '${name}'`).join(', ');

async function measureSluice({ database, jobId, size }, exportFormat) {
  const serve = await startServe({ database });
  try {
    let seen;
    const seconds = await secondsOf(async () => {
      seen = await readExport(serve, { jobId, exportFormat });
    });
    if (exportFormat === 'csv' && seen.lines !== size + 1) {
      throw new Error(`The CSV has ${seen.lines} lines instead of ${size + 1}`);
    }
    if (seen.sizeBytes < size)
      throw new Error(`The export has only ${seen.sizeBytes} bytes for ${size} rows`);
    return { [key]: size / seconds, peakMb: peakMb(serve.pid) };
  } finally {
    await serve.stop();
  }
}

async function measureCopy({ server, database, jobId, size, scratch }, expression) {
  const path = join(scratch.path, 'copied.csv');
  const rows = `select row_no, status, ${expression} from job_items where job_id = '${jobId}' order by id`;
  const command = `\\copy (${rows}) to '${path}' with (format csv)`;
  const seconds = await secondsOf(() => runPsql(server, { database, command }));
  const { size: sizeBytes } = await stat(path);
  if (sizeBytes < size) throw new Error(`COPY TO wrote only ${sizeBytes} bytes for ${size} rows`);
  return { [key]: size / seconds, peakMb: null };
}

async function measureExceljs({ database, jobId, size, scratch }) {
  let written = null;
  const settings = { ownerUrl: database.ownerUrl, jobId, columns, path: join(scratch.path, 'rows.xlsx') };
  const writer = await startContender('exceljs.mjs', settings, (message) => {
    if (message.is === 'handled') written = message.count;
  });
  try {
    const seconds = await secondsOf(async () => {
      writer.go();
      await until('exceljs has written all', () => written !== null, { everyMs: 2, limitMs: 600_000 });
    });
    if (written !== size) throw new Error(`exceljs wrote ${written} rows instead of ${size}`);
    return { [key]: size / seconds, peakMb: peakMb(writer.child.pid) };
  } finally {
    await writer.stop();
  }
}
