// `npm run chaos`: the fault tests with their full quotas, about 40 minutes. `npm test` runs the short version.
// With arguments (`npm run chaos -- items kernel`) only the files of test/chaos and
// test/failpoints whose names begin with one of them.
// SLUICE_CHAOS_SEED=<seed that a run has printed> repeats the choices of that run.
import { build } from './build.mjs';
import { printSummary, runVitest } from './steps.mjs';

const built = await build();
if (built.status === 'failed') {
  console.error(`The build failed. Fix this first:\n${built.message}`);
  process.exit(1);
}
const parts = process.argv.slice(2);
const step = await runVitest({
  name: `faults with their full quotas: ${parts.length > 0 ? parts.join(', ') : 'kernel, items and all the rest'}`,
  args: [
    '--project',
    'journeys',
    ...(parts.length > 0 ? parts : ['']).flatMap((part) => [`test/chaos/${part}`, `test/failpoints/${part}`]),
  ],
  env: { SLUICE_CHAOS: 'full' },
});
printSummary([step]);
process.exitCode = step.ok ? 0 : 1;
