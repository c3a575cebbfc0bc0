// `npm run chaos`: the fault tests with their full quotas, about 40 minutes. `npm test` runs the short version.
// SLUICE_CHAOS_SEED=<seed that a run has printed> repeats the choices of that run.
import { build } from './build.mjs';
import { printSummary, runVitest } from './steps.mjs';

const built = await build();
if (built.status === 'failed') {
  console.error(`The build failed. Fix this first:\n${built.message}`);
  process.exit(1);
}
const step = await runVitest({
  name: 'faults with their full quotas',
  args: ['--project', 'journeys', 'test/chaos'],
  env: { SLUICE_CHAOS: 'full' },
});
printSummary([step]);
process.exitCode = step.ok ? 0 : 1;
