import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { countsOf, writeAdReport } from '../harness/ad-report.mjs';
import { format, secondsOf } from '../harness/figures.mjs';
import { peakMb } from '../harness/memory.mjs';
import { loadByPgloader, pgloaderCandidates, requirePgloader } from '../harness/pgloader.mjs';
import { flushWrites } from '../harness/postgres.mjs';
import { makeScratch } from '../harness/scratch.mjs';
import { startServe, startWorkers } from '../harness/sluice.mjs';
import { findWorkspace, uploadReport } from '../harness/upload-sluice.mjs';
import {
  createFlatTable,
  createTenant,
  emptyFlatTable,
  loadBySql,
  useForeignKeys,
} from '../harness/upload-sql.mjs';

const key = 'perSecond';
const maxRssMb = 400;
const labels = {
  sluice: 'Sluice over HTTP',
  sql: 'pure SQL with foreign keys',
  checkedSql: 'pure SQL, checked as in Sluice',
  pgloader: 'pgloader, one flat table',
};

export const bench = {
  name: 'upload',
  title: 'A 50 MB ad report into production tables',
  about: `
A daily report of ads, as Meta exports it with ids, is sent to \`POST /api/uploads\` of a \`sluice serve\`; a
\`sluice worker\` beside it parses, checks, stages and promotes it; the clock stops when the record says completed.
Against it the same work as pure SQL in psql: \`\\copy\` into a flat table and insert-selects with the same upserts
and keys into the same four tables of a database of its own, without validation, staging, resume or events. It runs
twice: with foreign keys from the facts to their parents, as a person would have them, and with the product's checks
by statement (decision 0011), which make the SQL twice as fast as well. pgloader only loads the file into one flat
table of texts. All tables are logged. "Again" is the same file a second time, which changes no value: the upserts
then only note the newer upload. The memory is the most that the server or the worker ever had.`,
  size: 316_000,
  metrics: [
    { key, title: 'lines/s', better: 'more' },
    { key: 'againPerSecond', title: 'again, lines/s', better: 'more', inChart: false },
    { key: 'peakMb', title: 'peak RSS, MB', better: 'less', inChart: false },
  ],
  sweeps: [
    {
      contender: 'pgloader',
      candidates: pgloaderCandidates,
      measure: (context, best) =>
        withReport(context, (run) => measurePgloader({ ...run, best })).then((figures) => figures[key]),
    },
  ],
  async open({ server, size, settings }) {
    const version = requirePgloader();
    const best = settings.pgloader;
    const scratch = await makeScratch();
    const path = join(scratch.path, 'report.csv');
    await writeAdReport(path, size);
    const sizeMb = (await stat(path)).size / 1e6;
    // The tables must not depend on how the data came in.
    const run = { server, size, path, scratch: scratch.path, sums: new Set() };
    return {
      checks: [
        `The report has ${size} lines, ${format(sizeMb)} MB; production is the same by SQL and by Sluice.`,
      ],
      contenders: [
        { label: labels.sluice, measure: () => measureSluice(run) },
        { label: labels.sql, measure: () => measureSql({ ...run, foreignKeys: true }) },
        { label: labels.checkedSql, measure: () => measureSql({ ...run, foreignKeys: false }) },
        {
          label: labels.pgloader,
          note: version,
          settings: best,
          measure: () => measurePgloader({ ...run, best }),
        },
      ],
      close: scratch.remove,
    };
  },
  targets: [
    {
      text: 'at least 50 % of pure SQL with foreign keys',
      judge(figureOf) {
        const share = figureOf(labels.sluice, key) / figureOf(labels.sql, key);
        return { reached: share >= 0.5, figure: `${format(share * 100)} %` };
      },
    },
    {
      text: 'faster than pgloader’s flat load',
      judge(figureOf) {
        const ratio = figureOf(labels.sluice, key) / figureOf(labels.pgloader, key);
        return { reached: ratio > 1, figure: `${format(ratio)} times` };
      },
    },
    {
      text: `RSS below ${maxRssMb} MB`,
      judge(figureOf) {
        const most = figureOf(labels.sluice, 'peakMb');
        return { reached: most < maxRssMb, figure: `${format(most)} MB` };
      },
    },
  ],
};

async function measureSluice({ server, size, path, scratch, sums }) {
  const database = await server.sluiceDatabase();
  // Server and worker share the directory of the file.
  const settings = { SLUICE_DATA_DIR: join(scratch, `home-${randomUUID()}`) };
  try {
    const serve = await startServe({ database, settings });
    try {
      const workers = await startWorkers(1, { database, settings });
      try {
        const workspaceId = await findWorkspace(serve);
        const measure = () =>
          timed(database, async () => {
            const record = await uploadReport(serve, { path, workspaceId });
            if (record.promoted_rows !== size)
              throw new Error(`Only ${record.promoted_rows} rows were promoted`);
          });
        const rates = await firstAndAgain({ database, size, sums, measure });
        return { ...rates, peakMb: Math.max(...[serve.pid, ...workers.pids].map(peakMb)) };
      } finally {
        await workers.stop();
      }
    } finally {
      await serve.stop();
    }
  } finally {
    await database.drop();
  }
}

async function measureSql({ server, size, path, sums, foreignKeys }) {
  const database = await server.sluiceDatabase();
  try {
    await createTenant(database);
    if (foreignKeys) await useForeignKeys(database);
    await createFlatTable(database, { numbered: true });
    const measure = async () => {
      await emptyFlatTable(database);
      return timed(database, () => loadBySql(server, { database, path, uploadId: randomUUID() }));
    };
    return { ...(await firstAndAgain({ database, size, sums, measure })), peakMb: null };
  } finally {
    await database.drop();
  }
}

async function measurePgloader({ server, size, path, scratch, best }) {
  const database = await server.emptyDatabase();
  try {
    await createFlatTable(database, { numbered: false });
    const seconds = await timed(database, () => loadByPgloader({ database, path, scratch, best }));
    const [{ count }] = await database.query('select count(*)::int as count from flat');
    if (count !== size) throw new Error(`pgloader loaded ${count} lines instead of ${size}`);
    return { [key]: size / seconds, againPerSecond: null, peakMb: null };
  } finally {
    await database.drop();
  }
}

/** The report into empty tables, and once more over itself, which must change nothing. */
async function firstAndAgain({ database, size, sums, measure }) {
  const first = await measure();
  await checkProduction(database, { size, sums });
  const before = await lastChange(database);
  const again = await measure();
  await checkProduction(database, { size, sums });
  if ((await lastChange(database)) !== before) throw new Error('The same report again changed rows');
  return { [key]: size / first, againPerSecond: size / again };
}

async function timed(database, work) {
  await flushWrites(database);
  return secondsOf(work);
}

async function lastChange(database) {
  const [{ last }] = await database.query('select max(updated_at)::text as last from daily_metrics');
  return last;
}

async function checkProduction(database, { size, sums }) {
  // Without statistics the join below takes minutes.
  await database.query('analyze');
  const wanted = countsOf(size);
  const [found] = await database.query(`
    select (select count(*)::int from campaigns) as campaigns, (select count(*)::int from ad_sets) as "adSets",
           (select count(*)::int from ads) as ads, (select count(*)::int from daily_metrics) as "dailyMetrics"`);
  for (const [name, count] of Object.entries(wanted)) {
    if (found[name] !== count) throw new Error(`There are ${found[name]} ${name} instead of ${count}`);
  }
  const [{ sum }] = await database.query(`
    select sum(hashtextextended(concat_ws('|', c.external_id, c.name, s.external_id, s.name, a.external_id, a.name,
             m.metric_date, m.impressions, m.clicks, m.reach, trim_scale(m.spend), trim_scale(m.conversions),
             trim_scale(m.conversion_value), m.currency), 0)::numeric)::text as sum
      from daily_metrics m
      join campaigns c using (tenant_id, campaign_id)
      join ad_sets s using (tenant_id, ad_set_id)
      join ads a using (tenant_id, ad_id)`);
  sums.add(sum);
  if (sums.size > 1) throw new Error('Production is not the same by SQL and by Sluice');
}

async function withReport({ server, size }, work) {
  requirePgloader();
  const scratch = await makeScratch();
  try {
    const path = join(scratch.path, 'report.csv');
    await writeAdReport(path, size);
    return await work({ server, size, path, scratch: scratch.path });
  } finally {
    await scratch.remove();
  }
}
