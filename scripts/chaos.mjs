// `npm run chaos`: the fault tests with their full quotas, one file after the other, because each needs the machine
// for itself. `together` alone is what counts faults over all pipelines, about 40 minutes; the others show the same
// for one part. `npm test` runs the short versions.
// With arguments (`npm run chaos -- together disk clock`) only the files of the directories below whose names begin
// with one of them; `simulation` is 20,000 seeds, `reader-fuzz` a million mutated files, `naughty-strings` every string
// in every text, `model` a thousand histories of jobs.
// SLUICE_CHAOS_SEED=<seed that a run has printed> repeats the choices of that run.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { build } from './build.mjs';
import { printSummary, root, runVitest } from './steps.mjs';

const built = await build();
if (built.status === 'failed') {
  console.error(`The build failed. Fix this first:\n${built.message}`);
  process.exit(1);
}
const files = chooseFiles(process.argv.slice(2));
const steps = [];
for (const [number, file] of files.entries()) {
  const startedAtMs = performance.now();
  const step = await runVitest({
    name: `${number + 1} of ${files.length}: ${file}`,
    args: [file],
    env: { SLUICE_CHAOS: 'full' },
  });
  const took = `${((performance.now() - startedAtMs) / 60_000).toFixed(1)} min`;
  steps.push({ ...step, note: [took, step.note].filter(Boolean).join('; ') });
}
printSummary(steps);
process.exitCode = steps.every(({ ok }) => ok) ? 0 : 1;

/** Every test file of the directory, or only those that have a quota. */
function listSuites(directory, only) {
  return readdirSync(join(root, directory))
    .filter((name) => name.endsWith('.test.ts') && (!only || only.includes(name.replace('.test.ts', ''))))
    .sort((a, b) => Number(b.startsWith('together')) - Number(a.startsWith('together')))
    .map((name) => ({ name, path: `${directory}/${name}` }));
}

/** The longest first. A word that matches no file is an error, not an empty run. */
function chooseFiles(words) {
  const all = [
    ...listSuites('test/chaos'),
    ...listSuites('test/failpoints'),
    ...listSuites('test/event-loop'),
    ...listSuites('test/simulation'),
    ...listSuites('test/security', ['naughty-strings', 'reader-fuzz']),
    ...listSuites('src/kernel/jobs', ['model']),
  ];
  const unknown = words.filter((word) => !all.some(({ name }) => name.startsWith(word)));
  if (unknown.length > 0) {
    const names = [...new Set(all.map(({ name }) => name.replace('.test.ts', '')))].join(', ');
    console.error(`No fault test begins with ${unknown.join(', ')}. There are: ${names}.`);
    process.exit(1);
  }
  const isChosen = ({ name }) => words.length === 0 || words.some((word) => name.startsWith(word));
  return all.filter(isChosen).map(({ path }) => path);
}
