// Compares ways to find the nearest vectors: the exact engine as it is, the same with 8 bits, and pgvector with and
// without its graph (HNSW). Synthetic vectors. Prints the time of a search on the clock and of a core, memory, recall,
// and the time to build. A million vectors of 384 numbers need 6 GB of memory and about an hour.
// Usage: node bench/experiments/vector-engines.mjs [--sizes 10000,100000,1000000] [--dimensions 384] [--database URL]
// Needs a build. Without a database (whose owner may create the extension), pgvector runs in PGlite, which is slower.
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { dotProduct } from '../../dist/modules/ingest/knowledge/index/vector/scan.js';
import { TopHits } from '../../dist/modules/ingest/knowledge/index/vector/top-hits.js';
import { openBytes } from './byte-vectors.mjs';

const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: '10000' },
    dimensions: { type: 'string', default: '384' },
    database: { type: 'string' },
  },
});
const sizes = values.sizes.split(',').map(Number);
const dimensions = Number(values.dimensions);
/** As many as a search of the product asks for, and how many of them a person sees. */
const [limit, shown] = [200, 10];
const [clusters, queries, rowsPerInsert] = [200, 60, 1_000];
/** As the product sets them for this limit. */
const candidates = 2 * limit;

let state = 7;
const next = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32 - 0.5;
};
const centres = Array.from({ length: clusters }, () => Float32Array.from({ length: dimensions }, next));

/** Near one of many centres, as passages of one topic are; of length 1. */
function one() {
  const centre = centres[Math.floor((next() + 0.5) * clusters) % clusters];
  const made = centre.map((value) => value + 1.4 * next());
  const length = Math.hypot(...made);
  return made.map((value) => value / length);
}

for (const size of sizes) {
  const all = new Float32Array(size * dimensions);
  for (let at = 0; at < size; at += 1) all.set(one(), at * dimensions);
  const asked = Array.from({ length: queries }, one);
  const exact = await timed(asked, (query) => nearest(all, query));
  report(size, 'exact, 32 bits', { ...exact, mb: all.byteLength / 2 ** 20 }, exact.found);
  const bytes = openBytes(all, dimensions);
  const rough = await timed(asked, (query) => bytes.nearest(query, limit));
  report(size, 'exact, 8 bits', { ...rough, mb: bytes.bytes / 2 ** 20 }, exact.found);
  // The best of the 8 bits, compared once more with 32: the database has those.
  const twice = await timed(asked, (query) => again(all, query, bytes.nearest(query, 2 * limit)));
  report(size, 'exact, 8 bits, then 32', { ...twice, mb: bytes.bytes / 2 ** 20 }, exact.found);
  await withDatabase((db) => graphs(db, { size, all, asked, wanted: exact.found }));
}

/** The best of all, as the exact engine compares them. */
function nearest(all, query) {
  const best = new TopHits(limit);
  const size = all.length / dimensions;
  for (let at = 0; at < size; at += 1) {
    const score = dotProduct(all, at * dimensions, query);
    if (score >= best.threshold) best.offer(at, score);
  }
  return best.sorted().map(({ chunkId }) => chunkId);
}

function again(all, query, places) {
  const best = new TopHits(limit);
  for (const at of places) best.offer(at, dotProduct(all, at * dimensions, query));
  return best.sorted().map(({ chunkId }) => chunkId);
}

async function withDatabase(work) {
  if (values.database === undefined) {
    const [{ PGlite }, { vector }] = await Promise.all([
      import('@electric-sql/pglite'),
      import('@electric-sql/pglite-pgvector'),
    ]);
    const db = await PGlite.create({ extensions: { vector } });
    await work({ query: (text, args) => db.query(text, args) });
    return db.close();
  }
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: values.database });
  await client.connect();
  await client.query('set max_parallel_workers_per_gather = 0');
  const { rows } = await client.query('select pg_backend_pid() as pid');
  client.cpuMs = () => cpuMsOf(rows[0].pid);
  try {
    await work(client);
  } finally {
    await client.query('drop table if exists vector_engines');
    await client.end();
  }
}

/** Of a process of this machine, in steps of 10 ms; null elsewhere. */
function cpuMsOf(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return 10 * (Number(fields[11]) + Number(fields[12]));
  } catch {
    return null;
  }
}

function ownCpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

async function graphs(db, { size, all, asked, wanted }) {
  await db.query('create extension if not exists vector');
  await db.query('drop table if exists vector_engines');
  await db.query(`create table vector_engines (id integer primary key, e vector(${dimensions}) not null)`);
  await db.query('alter table vector_engines alter column e set storage plain');
  for (let start = 0; start < size; start += rowsPerInsert) {
    const count = Math.min(rowsPerInsert, size - start);
    const texts = Array.from({ length: count }, (_, at) =>
      textOf(all.subarray((start + at) * dimensions, (start + at + 1) * dimensions)),
    );
    await db.query(
      `insert into vector_engines
       select ${start} + r.place - 1, r.e::vector from unnest($1::text[]) with ordinality as r (e, place)`,
      [texts],
    );
  }
  await db.query("set work_mem = '64MB'");
  const nearestOf = (order, most) => async (query) => {
    const { rows } = await db.query(
      `with near as materialized (
              select id, e from vector_engines order by ${order} limit ${most})
       select id from near order by e <#> $1::vector, id limit ${limit}`,
      [textOf(query)],
    );
    return rows.map(({ id }) => id);
  };
  const table = await bytesOf(db, 'vector_engines');
  const cpuMs = db.cpuMs ?? ownCpuMs;
  const plain = await timed(asked, nearestOf('e <#> $1::vector', limit), cpuMs);
  report(size, 'pgvector, without a graph', { ...plain, mb: table }, wanted);
  for (const [type, column] of [
    ['vector', 'e'],
    ['halfvec', `(e::halfvec(${dimensions}))`],
  ]) {
    await db.query("set maintenance_work_mem = '4GB'");
    const from = performance.now();
    await db.query(`create index vector_graph on vector_engines using hnsw (${column} ${type}_ip_ops)`);
    const buildS = (performance.now() - from) / 1000;
    await db.query(`set hnsw.ef_search = ${candidates}`);
    await db.query('set enable_seqscan = off');
    const cast = type === 'vector' ? '' : `(${dimensions})`;
    const order = `${column} <#> $1::${type}${cast}`;
    const found = await timed(asked, nearestOf(order, candidates), cpuMs);
    report(
      size,
      `pgvector, graph of ${type}`,
      { ...found, mb: await bytesOf(db, 'vector_graph'), buildS },
      wanted,
    );
    await db.query('set enable_seqscan = on');
    await db.query('drop index vector_graph');
  }
}

async function bytesOf(db, name) {
  const { rows } = await db.query('select pg_relation_size($1::regclass)::float8 as bytes', [name]);
  return rows[0].bytes / 2 ** 20;
}

/** After three searches that warm caches and compilers. */
async function timed(asked, search, cpuMs = ownCpuMs) {
  for (const query of asked.slice(0, 3)) await search(query);
  const times = [];
  const found = [];
  const cpuFrom = cpuMs();
  for (const query of asked) {
    const from = performance.now();
    found.push(await search(query));
    times.push(performance.now() - from);
  }
  return { times, found, cpu: (cpuMs() - cpuFrom) / asked.length };
}

function textOf(vector) {
  return `[${Array.from(vector, (value) => value.toPrecision(7)).join(',')}]`;
}

function report(size, engine, { times, found, cpu, mb, buildS }, wanted) {
  const sorted = times.toSorted((a, b) => a - b);
  const [p50, p95] = [0.5, 0.95].map((share) => sorted[Math.floor(share * (sorted.length - 1))].toFixed(1));
  const [few, many] = [shown, limit].map((most) => recallOf(found, wanted, most).toFixed(3));
  const built = buildS === undefined ? '' : ` | ${buildS.toFixed(0)} s to build`;
  console.log(
    `${size} × ${dimensions} | ${engine} | p50 ${p50} ms | p95 ${p95} ms | ${cpu.toFixed(1)} ms of CPU | ` +
      `${mb.toFixed(0)} MB | ` +
      `recall@${shown} ${few} | recall@${limit} ${many}${built}`,
  );
}

function recallOf(found, wanted, most) {
  const shares = found.map((ids, at) => {
    const right = new Set(wanted[at].slice(0, most));
    return ids.slice(0, most).filter((id) => right.has(id)).length / right.size;
  });
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}
