// How a benchmark tells its figures: a table on the screen and JSON under bench/results/.
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';

const resultsDir = fileURLToPath(new URL('../results', import.meta.url));

export function percentiles(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share) => round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]);
  return { count: sorted.length, p50_ms: at(0.5), p99_ms: at(0.99), max_ms: at(1) };
}

export function round(value) {
  return Math.round(value * 1_000) / 1_000;
}

export function msBetween(fromNs, toNs) {
  return Number(toNs - fromNs) / 1e6;
}

export async function writeReport({ name, postgres, rows }) {
  const machine = {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    node: process.version,
    postgres,
  };
  console.log(`\n${name} (${machine.cores} cores, Node ${machine.node}, PostgreSQL ${postgres})`);
  console.table(rows);
  await mkdir(resultsDir, { recursive: true });
  const report = { name, measured_at: new Date().toISOString(), machine, rows };
  await writeFile(`${resultsDir}/${name}.json`, `${JSON.stringify(report, null, 2)}\n`);
}

/** Numbers from the command line, in order, each with its default. */
export function numbersFromArguments(defaults) {
  const given = process.argv.slice(2).map(Number);
  if (given.some((number) => !Number.isInteger(number) || number < 1)) {
    throw new Error(`Arguments are whole numbers from 1; by default: ${defaults.join(' ')}`);
  }
  return given.length > 0 ? given : defaults;
}
