import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { format, secondsOf } from '../harness/figures.mjs';
import { uploadCsv } from '../harness/http.mjs';
import { peakMb } from '../harness/memory.mjs';
import { flushWrites } from '../harness/postgres.mjs';
import { runPsql } from '../harness/psql.mjs';
import { copyColumns, writeCopyFile, writeCsv } from '../harness/row-files.mjs';
import { makeScratch } from '../harness/scratch.mjs';
import { startServe } from '../harness/sluice.mjs';

const key = 'perSecond';

export const bench = {
  name: 'ingest',
  title: 'A CSV file into job_items',
  about: `
A CSV file of five columns is sent to \`POST /api/jobs\` of a \`sluice serve\` with default settings: read, parsed,
checked and written to \`job_items\` while it arrives; the clock stops at the 201, when the job is visible with all
its rows. Against it \`psql \\copy\` of the same rows, already taken apart and written as JSON, into a table with
the same columns, indexes and storage settings, and without the foreign key and the tenant policy.`,
  size: 1_000_000,
  metrics: [
    { key, title: 'rows/s', better: 'more' },
    { key: 'peakMb', title: 'peak RSS of the server, MB', better: 'less', inChart: false },
  ],
  async open({ server, size }) {
    const scratch = await makeScratch();
    const csv = join(scratch.path, 'rows.csv');
    const copyFile = join(scratch.path, 'rows.copy');
    await writeCsv(csv, size);
    await writeCopyFile(copyFile, { count: size, jobId: randomUUID() });
    // The rows must not depend on how they came in.
    const sums = new Set();
    return {
      contenders: [
        { label: 'Sluice over HTTP', measure: () => measureIngest({ server, size, csv, sums }) },
        { label: 'psql \\copy', measure: () => measureCopy({ server, size, copyFile, sums }) },
      ],
      close: scratch.remove,
    };
  },
  targets: [
    {
      text: 'at least 60 % of psql \\copy',
      judge(figureOf) {
        const share = figureOf('Sluice over HTTP', key) / figureOf('psql \\copy', key);
        return { reached: share >= 0.6, figure: `${format(share * 100)} %` };
      },
    },
  ],
};

async function measureIngest({ server, size, csv, sums }) {
  const database = await server.sluiceDatabase();
  try {
    const serve = await startServe({ database });
    try {
      await flushWrites(database);
      const seconds = await secondsOf(() => uploadCsv(serve, csv));
      const figures = { [key]: size / seconds, peakMb: peakMb(serve.pid) };
      await checkRows(database, { table: 'job_items', size, sums });
      return figures;
    } finally {
      await serve.stop();
    }
  } finally {
    await database.drop();
  }
}

async function measureCopy({ server, size, copyFile, sums }) {
  const database = await server.sluiceDatabase();
  try {
    await cloneItems(database);
    await flushWrites(database);
    const command = `\\copy copied_items (${copyColumns}) from '${copyFile}'`;
    const seconds = await secondsOf(() => runPsql(server, { database, command }));
    await checkRows(database, { table: 'copied_items', size, sums });
    return { [key]: size / seconds, peakMb: null };
  } finally {
    await database.drop();
  }
}

/** LIKE does not copy storage settings such as fillfactor. */
async function cloneItems(database) {
  await database.query('create table copied_items (like job_items including all)');
  const [{ options }] = await database.query(
    `select array_to_string(reloptions, ', ') as options from pg_class where oid = 'job_items'::regclass`,
  );
  if (options) await database.query(`alter table copied_items set (${options})`);
}

async function checkRows(database, { table, size, sums }) {
  const [row] = await database.query(
    `select count(*)::int as count, sum(hashtext(row_no || input_json::text)::bigint)::text as sum from ${table}`,
  );
  sums.add(row.sum);
  if (row.count !== size) throw new Error(`${table} has ${row.count} rows instead of ${size}`);
  if (sums.size > 1) throw new Error('The rows of the ingest and of \\copy are not the same');
}
