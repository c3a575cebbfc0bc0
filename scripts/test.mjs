// `npm test`: the build, the static checks and every test, on each PostgreSQL and Node that we promise.
// With arguments (`npm test -- src/lib`) it builds and runs just the tests that they name. A test file that fails is
// run once more, alone, at the end; if it passes then, it is named as unstable, which `--strict` makes a failure.
import { build } from './build.mjs';
import { heading, printSummary, retryFailedFiles, runCheck, runVitest, staticChecks } from './steps.mjs';
import { ensureDebianPackages, findChromium, findNewestNode, findSystemPostgres } from './test-peers.mjs';

// A developer's machine may leave steps out; where the result is final, all have to run.
const nothingMayBeLeftOut = process.env.CI === 'true';

// These tests behave the same on every PostgreSQL: how houses read files, fail, stall and are canceled. The kernel, the
// stores and the plans of their statements may differ.
const sameOnEveryPostgres = [
  'src/ingest/**/{cancel,contention,conventions,ends,failures,heartbeat,rescan,resume}.database.test.ts',
  'src/kernel/files/**',
];

const chosen = process.argv.slice(2).filter((word) => word !== '--strict');
const isStrict = process.argv.includes('--strict');
const results = chosen.length > 0 ? await runChosen(chosen) : await runEverything();
finish(await retryFailedFiles(results));

async function runChosen(args) {
  const built = await runBuild();
  return built.ok ? [built, await runVitest({ name: `tests: ${args.join(' ')}`, args })] : [built];
}

async function runEverything() {
  const built = await runBuild();
  if (!built.ok) return [built];
  const steps = [built, ...preparePackages()];
  steps.push(
    await runVitest({
      name: `all tests, Node ${process.version}, PostgreSQL 18 embedded`,
      args: ['--project', '!browser'],
    }),
  );
  // A browser leaves much of a machine idle: the other steps run beside it.
  const [inBrowser, beside] = await Promise.all([runInBrowser(), runBesideBrowser()]);
  return [...steps, inBrowser, ...beside];
}

async function runBesideBrowser() {
  const steps = [await runOnSystemPostgres(), await runOnNewestNode()];
  for (const check of staticChecks) steps.push(await runCheck({ ...check, later: true }));
  return steps;
}

async function runBuild() {
  heading('build');
  const { status, message } = await build();
  console.log(status === 'failed' ? message : `dist/ and console/dist/ are ${status}.`);
  return { name: 'build', ok: status !== 'failed', note: '' };
}

function preparePackages() {
  heading('programs from Debian');
  const missing = ensureDebianPackages();
  if (missing.length === 0) console.log('All are installed.');
  return missing.map((sentence) => leaveOut('programs from Debian', sentence));
}

async function runInBrowser() {
  const name = 'the console in a browser';
  const { missing } = findChromium();
  return missing ? leaveOut(name, missing) : runVitest({ name, args: ['--project', 'browser'] });
}

async function runOnSystemPostgres() {
  const postgres = findSystemPostgres();
  if (postgres.missing) return leaveOut('kernel and stores, system PostgreSQL', postgres.missing);
  return runVitest({
    name: `kernel and stores, PostgreSQL ${postgres.version} of the system`,
    args: ['--project', 'database', ...sameOnEveryPostgres.flatMap((files) => ['--exclude', files])],
    env: { SLUICE_TEST_POSTGRES: 'system' },
    later: true,
  });
}

async function runOnNewestNode() {
  const node = await findNewestNode();
  if (node.missing) return leaveOut('smoke test, newest Node', node.missing);
  return runVitest({
    name: `smoke test, Node ${node.version}`,
    args: ['--project', 'smoke'],
    node: node.path,
    later: true,
  });
}

function leaveOut(name, reason) {
  console.log(`\nLeft out: ${name}. ${reason}`);
  const note = nothingMayBeLeftOut ? `${reason} (CI=true: nothing may be left out)` : reason;
  return { name, ok: !nothingMayBeLeftOut, leftOut: !nothingMayBeLeftOut, note };
}

function finish(steps) {
  printSummary(steps);
  const passed = steps.reduce((sum, step) => sum + (step.passed ?? 0), 0);
  const failed = steps.reduce((sum, step) => sum + (step.failed ?? 0), 0);
  const unstable = steps.reduce((sum, step) => sum + (step.unstable?.length ?? 0), 0);
  const files = `${unstable} ${unstable === 1 ? 'file' : 'files'}`;
  const advice = isStrict ? ', see above; --strict makes this a failure.' : ', see above.';
  console.log(`\nUnstable: ${files}${unstable > 0 ? advice : '.'}`);
  console.log(`${passed} passed, ${failed} failed`);
  const isStable = unstable === 0 || !isStrict;
  process.exitCode = steps.every((step) => step.ok) && failed === 0 && passed > 0 && isStable ? 0 : 1;
}
