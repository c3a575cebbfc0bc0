// The settings of contenders: found by `--sweep`, kept in bench/settings.json, published with every result.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format, median } from './figures.mjs';

const file = fileURLToPath(new URL('../settings.json', import.meta.url));
const resultsDir = fileURLToPath(new URL('../results', import.meta.url));
const sweepFile = `${resultsDir}/sweep.json`;
const repeats = 3;
/** Benchmarks share peers; one sweep of each is enough for a run. */
const swept = new Set();

export async function readSettings() {
  return JSON.parse(await readFile(file, 'utf8'));
}

/** Tries every candidate of every contender that the benchmark sweeps, and keeps the one with the best median. */
export async function sweep(bench, context) {
  for (const { contender, candidates, measure } of bench.sweeps) {
    if (swept.has(contender)) continue;
    swept.add(contender);
    const tried = [];
    for (const settings of candidates) {
      const rates = [];
      for (let repeat = 0; repeat < repeats; repeat += 1) rates.push(await measure(context, settings));
      tried.push({ settings, perSecond: Math.round(median(rates)) });
      console.log(`  sweep ${contender} ${JSON.stringify(settings)}: ${format(median(rates))}/s`);
    }
    await record(contender, {
      size: context.size,
      tried: tried.toSorted((a, b) => b.perSecond - a.perSecond),
    });
  }
}

/** The best one is used from now on; the others are kept beside the results. */
async function record(contender, { size, tried }) {
  await writeJson(file, { ...(await readSettings()), [contender]: tried[0].settings });
  await mkdir(resultsDir, { recursive: true });
  const before = await readFile(sweepFile, 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return '{}';
    throw error;
  });
  const entry = { measuredAt: new Date().toISOString(), size, node: process.version, repeats, tried };
  await writeJson(sweepFile, { ...JSON.parse(before), [contender]: entry });
}

function writeJson(path, value) {
  return writeFile(path, `${JSON.stringify(value, null, 2)}\n`);
}
