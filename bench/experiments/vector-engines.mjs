// Compares the exact engine with pgvector (HNSW, in PGlite) on synthetic vectors: time of a search, memory, recall.
// Usage: node bench/experiments/vector-engines.mjs [SIZES] [DIMENSIONS]; needs a build. Sizes: 10000,100000,1000000.
import { performance } from 'node:perf_hooks';
import { PGlite } from '@electric-sql/pglite';
import { vector as pgvector } from '@electric-sql/pglite-pgvector';
import { dotProduct } from '../../dist/modules/ingest/knowledge/index/vector/scan.js';

const sizes = (process.argv[2] ?? '10000').split(',').map(Number);
const dimensions = Number(process.argv[3] ?? 384);
const [clusters, queries, limit] = [200, 40, 10];

let state = 7;
const next = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32 - 0.5;
};
const centres = Array.from({ length: clusters }, () => Float32Array.from({ length: dimensions }, next));

/** Near one of many centres, as passages of one topic are; of length 1. */
function one() {
  const centre = centres[Math.floor((next() + 0.5) * clusters) % clusters];
  const made = centre.map((value) => value + 0.7 * next());
  const length = Math.hypot(...made);
  return made.map((value) => value / length);
}

for (const size of sizes) {
  const all = new Float32Array(size * dimensions);
  for (let at = 0; at < size; at += 1) all.set(one(), at * dimensions);
  const asked = Array.from({ length: queries }, one);
  const exactTimes = [];
  const nearest = asked.map((query) => {
    const from = performance.now();
    const best = scan(all, query, size);
    exactTimes.push(performance.now() - from);
    return best;
  });
  report(size, 'exact', exactTimes, { mb: (all.byteLength / 2 ** 20).toFixed(0), recall: 1, buildS: 0 });
  await graph(size, all, asked, nearest);
}

/** The best of all, as the exact engine compares them. */
function scan(all, query, size) {
  const best = [];
  let least = -2;
  for (let at = 0; at < size; at += 1) {
    const score = dotProduct(all, at * dimensions, query);
    if (score <= least && best.length === limit) continue;
    best.push({ at, score });
    best.sort((a, b) => b.score - a.score);
    if (best.length > limit) best.pop();
    least = best.at(-1).score;
  }
  return best.map(({ at }) => at);
}

async function graph(size, all, asked, nearest) {
  const db = await PGlite.create({ extensions: { vector: pgvector } });
  await db.exec(`create extension vector; create table v (id int primary key, e vector(${dimensions}))`);
  const text = (values) => `[${Array.from(values, (value) => value.toFixed(6)).join(',')}]`;
  const from = performance.now();
  for (let start = 0; start < size; start += 500) {
    const rows = Array.from({ length: Math.min(500, size - start) }, (_, at) => {
      const place = start + at;
      return `(${place},'${text(all.subarray(place * dimensions, (place + 1) * dimensions))}')`;
    });
    await db.exec(`insert into v values ${rows.join(',')}`);
  }
  const loadedAt = performance.now();
  await db.exec(`set maintenance_work_mem = '1GB'; create index on v using hnsw (e vector_ip_ops)`);
  const buildS = (performance.now() - loadedAt) / 1000;
  const { rows } = await db.query(`select pg_total_relation_size('v') as bytes`);
  await db.exec('set hnsw.ef_search = 100; set enable_seqscan = off');
  const times = [];
  let found = 0;
  for (const [index, query] of asked.entries()) {
    const startedAt = performance.now();
    const hits = await db.query(`select id from v order by e <#> $1 limit ${limit}`, [text(query)]);
    times.push(performance.now() - startedAt);
    found += hits.rows.filter(({ id }) => nearest[index].includes(id)).length;
  }
  const loadS = ((loadedAt - from) / 1000).toFixed(0);
  const recall = found / (queries * limit);
  report(size, 'pgvector', times, {
    mb: (Number(rows[0].bytes) / 2 ** 20).toFixed(0),
    recall,
    buildS,
    loadS,
  });
  await db.close();
}

function report(size, engine, times, { mb, recall, buildS, loadS = 0 }) {
  const sorted = times.toSorted((a, b) => a - b);
  const [p50, p95] = [0.5, 0.95].map((share) => sorted[Math.floor(share * (sorted.length - 1))].toFixed(1));
  console.log(
    `${size} × ${dimensions} ${engine}: p50 ${p50} ms, p95 ${p95} ms, ${mb} MB, recall ${recall.toFixed(3)}, ` +
      `graph built in ${buildS.toFixed(0)} s after ${loadS} s of loading`,
  );
}
