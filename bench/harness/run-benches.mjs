// Runs benchmarks one after the other, each on its own PostgreSQL.
import { build } from '../../scripts/build.mjs';
import { endAll, endOnSignals, isStopping } from './cleanup.mjs';
import { machineOf } from './machine.mjs';
import { startServer } from './postgres.mjs';
import { publish, showVerdicts, usualRounds } from './report.mjs';
import { interleave } from './rounds.mjs';
import { readSettings, sweep } from './settings.mjs';

/** Returns the exit code: 2 when a benchmark failed; 1 for a missed target, with `--strict` only. */
export async function runBenches(options) {
  endOnSignals();
  if (options.build) await buildProgram();
  let missed = 0;
  let failed = 0;
  for (const name of options.names) {
    if (isStopping()) break;
    const { bench } = await import(`../benches/${name}.mjs`);
    try {
      missed += await runBench(bench, options);
    } catch (error) {
      // The others can still be measured; the exit code tells that one is missing.
      if (!isStopping()) console.error(error);
      failed += 1;
    } finally {
      await endAll();
    }
  }
  if (missed > 0) console.log(`\n${missed} ${missed === 1 ? 'target was' : 'targets were'} not reached.`);
  if (failed > 0) console.error(`\n${failed} of ${options.names.length} benchmarks failed.`);
  if (failed > 0) return 2;
  return missed > 0 && options.strict ? 1 : 0;
}

/** Published results have the benchmark's own size, and at least its usual number of rounds. */
function isTrial(bench, { size, rounds }) {
  return size !== null || (rounds !== null && rounds < usualRounds(bench));
}

async function buildProgram() {
  const built = await build();
  if (built.status === 'failed') throw new Error(`The build failed:\n${built.message}`);
}

async function runBench(bench, options) {
  const size = options.size ?? bench.size;
  const rounds = options.rounds ?? usualRounds(bench);
  console.log(`\n${bench.name}: ${bench.title} (rounds: ${rounds}, size ${size.toLocaleString('en-US')})`);
  const startedAt = new Date();
  const server = bench.isEmbedded ? null : await startServer(bench.serverSettings);
  try {
    const context = { server, size, rounds, collections: options.collections };
    if (options.sweep && bench.sweeps) await sweep(bench, context);
    const settings = await readSettings();
    const opened = await bench.open({ ...context, settings });
    try {
      const series = await interleave(opened.contenders, { rounds, metrics: bench.metrics });
      const verdicts = [...bench.targets.map((target) => judge(target, series)), ...(opened.verdicts ?? [])];
      const machine = machineOf(server);
      const report = { bench, size, rounds, isTrial: isTrial(bench, options), startedAt, machine };
      const details = opened.describe?.() ?? [];
      await publish({ ...report, series, verdicts, details, checks: opened.checks ?? [] });
      showVerdicts(verdicts);
      return verdicts.filter(({ reached }) => !reached).length;
    } finally {
      await opened.close?.();
    }
  } finally {
    await server?.stop();
  }
}

/** A target compares medians; `figureOf` throws when a named contender was not measured. */
function judge({ text, judge: decide }, series) {
  const figureOf = (label, key) => {
    const found = series.find((entry) => entry.label === label)?.summary[key];
    if (!found) throw new Error(`The target "${text}" looks at "${label}", which has no figure "${key}"`);
    return found.median;
  };
  return { target: text, ...decide(figureOf, series) };
}
