import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startContender, until } from '../harness/children.mjs';
import { serverCpuSeconds } from '../harness/cpu.mjs';
import { format, median } from '../harness/figures.mjs';
import { uploadCsv } from '../harness/http.mjs';
import { writeCsv } from '../harness/row-files.mjs';
import { makeScratch } from '../harness/scratch.mjs';
import { startServe } from '../harness/sluice.mjs';
import { claimCall } from '../harness/watched-database.mjs';

const processes = 4;
const windowMs = 30_000;
/** After a start, what every worker does once has to end first. */
const settleMs = 5_000;
/** A herd that was woken has come by then. */
const herdMs = 500;
const jobs = 10;
const control = 'PostgreSQL alone';
const maxPercent = 5;
const fleetLabel = 'Sluice, idle workers';

export const bench = {
  name: 'fleet',
  title: 'What a fleet of idle workers costs',
  about: `
Workers of the built program with default settings and nothing to do, ${processes} processes with a share of them each. Every worker
has its own connections, its own lock and its own loops, as in a process of its own; only its pool is smaller (two
connections), so that PostgreSQL can serve them all. The size is the number of workers.

CPU is the time of all PostgreSQL processes over ${windowMs / 1000} s; beside it the same server without workers. Then ${jobs} files of one
row are sent to a server without a worker, one after the other. Claims per job are the calls of the claiming statement
from the request until ${herdMs} ms after the job's end, as pg_stat_statements counts them, less what the idle fleet would have
claimed in that time. Statements per job are the same for all statements, those of the server included.`,
  size: 200,
  serverSettings: {
    max_connections: '1000',
    shared_preload_libraries: 'pg_stat_statements',
  },
  metrics: [
    { key: 'cpu', title: '% of a core', better: 'less' },
    { key: 'idleClaims', title: 'claims/s while idle', better: 'less' },
    { key: 'jobClaims', title: 'claims per job', better: 'less' },
    { key: 'idleStatements', title: 'statements/s while idle', better: 'less', inChart: false },
    { key: 'jobStatements', title: 'statements per job', better: 'less', inChart: false },
  ],
  async open({ server, size }) {
    return {
      contenders: [
        { label: control, measure: () => measureControl(server) },
        { label: fleetLabel, measure: () => measureFleet(server, size) },
      ],
    };
  },
  targets: [
    {
      text: `below ${maxPercent} % of a core more than PostgreSQL alone`,
      judge(figureOf) {
        const percent = figureOf(fleetLabel, 'cpu') - figureOf(control, 'cpu');
        return { reached: percent < maxPercent, figure: `${format(percent)} %` };
      },
    },
    {
      text: 'one job causes fewer claims than a tenth of 200 workers',
      judge(figureOf) {
        const claims = figureOf(fleetLabel, 'jobClaims');
        return { reached: claims < 20, figure: `${format(claims)} claims` };
      },
    },
  ],
};

async function measureControl(server) {
  const database = await server.sluiceDatabase();
  try {
    await pause(settleMs);
    const none = { idleClaims: null, jobClaims: null, idleStatements: null, jobStatements: null };
    return { cpu: await cpuPercent(server), ...none };
  } finally {
    await database.drop();
  }
}

async function measureFleet(server, size) {
  const database = await server.sluiceDatabase();
  const scratch = await makeScratch();
  await database.query('create extension pg_stat_statements');
  const workers = [];
  try {
    for (let n = 0; n < processes; n += 1) {
      const count = Math.floor((size * (n + 1)) / processes) - Math.floor((size * n) / processes);
      const settings = { ownerUrl: database.ownerUrl, dataDir: join(scratch.path, `home-${n}`), count };
      workers.push(await startContender('fleet.mjs', settings));
    }
    await assertMembers(database, size);
    await pause(settleMs);
    const before = await readCalls(database);
    const cpu = await cpuPercent(server);
    const after = await readCalls(database);
    await assertMembers(database, size);
    const idleClaims = (after.claims - before.claims) / (windowMs / 1000);
    const idleStatements = (after.statements - before.statements) / (windowMs / 1000);
    const perJob = await callsPerJob({ database, scratch, idleClaims, idleStatements });
    return { cpu, idleClaims, idleStatements, ...perJob };
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await scratch.remove();
    await database.drop();
  }
}

async function cpuPercent(server) {
  const startedAtMs = performance.now();
  const before = serverCpuSeconds(server.pid);
  await pause(windowMs);
  const seconds = (performance.now() - startedAtMs) / 1000;
  return ((serverCpuSeconds(server.pid) - before) / seconds) * 100;
}

async function assertMembers(database, size) {
  const [{ count }] = await database.query(
    'select count(*)::int as count from workers where lost_at is null',
  );
  if (count !== size) throw new Error(`The fleet has ${count} members instead of ${size}`);
}

async function callsPerJob({ database, scratch, idleClaims, idleStatements }) {
  const path = join(scratch.path, 'one-row.csv');
  await writeCsv(path, 1);
  const serve = await startServe({ database });
  const claims = [];
  const statements = [];
  try {
    for (let n = 0; n < jobs; n += 1) {
      const startedAtMs = performance.now();
      const before = await readCalls(database);
      const jobId = await uploadCsv(serve, path);
      await until(`job ${jobId} has ended`, () => hasEnded(database, jobId));
      await pause(herdMs);
      const after = await readCalls(database);
      const seconds = (performance.now() - startedAtMs) / 1000;
      claims.push(Math.max(0, after.claims - before.claims - idleClaims * seconds));
      statements.push(Math.max(0, after.statements - before.statements - idleStatements * seconds));
    }
  } finally {
    await serve.stop();
  }
  return { jobClaims: median(claims), jobStatements: median(statements) };
}

async function hasEnded(database, jobId) {
  const [job] = await database.query('select status from ingestion_jobs where job_id = $1', [jobId]);
  return job?.status === 'success';
}

async function readCalls(database) {
  const [calls] = await database.query(
    `select coalesce(sum(calls) filter (where query ~ $1), 0)::int as claims, sum(calls)::int as statements
       from pg_stat_statements
      where dbid = (select oid from pg_database where datname = current_database())`,
    [claimCall.source.replaceAll('\\b', '\\m')],
  );
  if (calls.claims === 0) throw new Error(`No statement in pg_stat_statements matches ${claimCall}`);
  return calls;
}
