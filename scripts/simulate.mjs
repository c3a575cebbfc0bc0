// `npm run simulate`: the kernel's scheduler, leases and retries under a simulated clock and store, 20,000 seeds of
// about 1,000 events each, in a few minutes. `npm test` runs 200 of them.
// `npm run simulate -- 500` takes as many seeds; SIM_SEED=<seed that a run has printed> replays that one alone.
import { printSummary, runVitest } from './steps.mjs';

const given = process.argv[2] ?? '20000';
const seeds = Number(given);
if (!Number.isInteger(seeds) || seeds < 1 || seeds > 1_000_000) {
  console.error(
    `"${given}" is not a number of seeds. Say how many, from 1 to 1000000: npm run simulate -- 500`,
  );
  process.exit(1);
}
const step = await runVitest({
  name: process.env.SIM_SEED ? `simulation, seed ${process.env.SIM_SEED}` : `simulation, ${seeds} seeds`,
  args: ['--project', 'journeys', 'test/simulation/simulation.test.ts'],
  env: { SIM_SEEDS: String(seeds) },
});
printSummary([step]);
process.exitCode = step.ok ? 0 : 1;
