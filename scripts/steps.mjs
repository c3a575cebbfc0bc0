// What `npm run check` and `npm test` have in common: named steps, vitest runs that are counted, and a summary.
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, stripVTControlCharacters } from 'node:util';

export const root = fileURLToPath(new URL('..', import.meta.url));

const failureLines = 12;
// More failed files than this mean a broken build, and running each of them alone would take hours.
const mostRetriedFiles = 20;
const errorsReporter = fileURLToPath(new URL('errors-reporter.mjs', import.meta.url));
const bin = (path) => join(root, 'node_modules', path);

/** The checks that read the code without running it. */
export const staticChecks = [
  {
    name: 'format and lint',
    command: [bin('@biomejs/biome/bin/biome'), 'check', '--error-on-warnings', '.'],
  },
  { name: 'types', command: [bin('typescript/bin/tsc'), '-p', 'tsconfig.json', '--noEmit'] },
  {
    name: 'types of the console',
    command: [bin('typescript/bin/tsc'), '-p', 'console/tsconfig.json', '--noEmit'],
  },
  { name: 'dead code', command: [bin('knip/bin/knip.js')] },
];

/**
 * Runs a Node program with its output on the screen and returns the step's result. With `later` the output is printed
 * in one piece at the end, for steps that run at the same time.
 */
export async function runCheck({ name, command, later = false }) {
  const code = await inScratch((scratch) =>
    runStep({ name, file: process.execPath, args: command, later, scratch }),
  );
  return { name, ok: code === 0, note: code === 0 ? '' : `exit code ${code}` };
}

/**
 * Runs vitest with its usual reporter and counts the tests. `node` says with which Node. `retry` in the result runs one
 * file of the step once more, in the same environment.
 */
export function runVitest({ name, args, node = process.execPath, env = {}, later = false }) {
  return inScratch(async (scratch) => {
    const report = join(scratch, 'report.json');
    const errors = join(scratch, 'errors.json');
    const reporters = ['default', 'json', errorsReporter].map((reporter) => `--reporter=${reporter}`);
    const vitest = [bin('vitest/vitest.mjs'), 'run', ...reporters, `--outputFile.json=${report}`, ...args];
    const reported = { ...env, SLUICE_TEST_ERRORS: errors };
    const code = await runStep({ name, file: node, args: vitest, env: reported, later, scratch });
    const counted = countTests({ code, report: await readJson(report), errors: await readJson(errors) });
    const retry = async (path) =>
      runVitest({
        name: `once more, alone: ${relative(root, path)}`,
        args: [...(await withoutFilters(args)), path],
        node,
        env,
      });
    return { name, ...counted, retry };
  });
}

/** The arguments without the files that they name, so that a single file can be named instead. */
async function withoutFilters(args) {
  // Loaded here because only a run with a failure needs it.
  const { parseCLI } = await import('vitest/node');
  const parse = (words) => parseCLI(['vitest', 'run', ...words], { allowUnknownOptions: true });
  const all = parse(args);
  // Leaving out a filter changes no option; leaving out the value of an option does.
  return args.filter((_, index) => {
    const rest = parse(args.toSpliced(index, 1));
    const isFilter = rest.filter.length < all.filter.length && isDeepStrictEqual(rest.options, all.options);
    return !isFilter;
  });
}

/**
 * Runs every file that failed once more, alone, and returns the steps with the outcome. A file that passes now is
 * unstable: its tests count as passed, and the summary names it with its first failure.
 */
export async function retryFailedFiles(steps) {
  const count = steps.reduce((sum, step) => sum + (step.failedFiles?.length ?? 0), 0);
  if (count > mostRetriedFiles) {
    console.log(
      `\n${count} files failed; none is run again, because that is done for at most ${mostRetriedFiles}.`,
    );
    return steps;
  }
  const retried = [];
  for (const step of steps) {
    let result = step;
    for (const file of step.failedFiles ?? []) {
      result = mergeRetry({ step: result, file, again: await step.retry(file.path) });
    }
    retried.push(result);
  }
  return retried;
}

/** Puts the second run of a file in the place of its first one. */
export function mergeRetry({ step, file, again }) {
  const passed = step.passed - file.passed + again.passed;
  const failed = step.failed - file.failed + again.failed;
  const merged = { ...step, passed, failed, ok: failed === 0 };
  if (again.ok) {
    const isOfFile = (failure) => failure.path === file.path;
    const unstable = { path: file.path, failures: step.failures.filter(isOfFile) };
    return {
      ...merged,
      failures: step.failures.filter((failure) => !isOfFile(failure)),
      unstable: [...(step.unstable ?? []), unstable],
    };
  }
  const words = again.failures.length > 0 ? again.failures : [{ name: file.path, words: again.note }];
  const second = words.map((failure) => ({ ...failure, name: `${failure.name} (once more, alone)` }));
  return { ...merged, failures: [...step.failures, ...second] };
}

async function runStep({ name, file, args, env = {}, later, scratch }) {
  if (!later) {
    heading(name);
    return run(file, args, { env });
  }
  const output = join(scratch, 'output');
  const code = await run(file, args, { env, output });
  console.log(`${headingOf(name)}\n${await readFile(output, 'utf8')}`);
  return code;
}

async function inScratch(work) {
  const scratch = await mkdtemp(join(tmpdir(), 'sluice-test-'));
  try {
    return await work(scratch);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/**
 * Turns vitest's exit code, its JSON report and the errors outside of tests (null: it wrote none) into the counts that
 * the summary adds up.
 */
export function countTests({ code, report, errors }) {
  if (!report) {
    const note = `vitest ended with ${code}, no report`;
    return { ok: false, passed: 0, failed: 1, skipped: 0, note, failures: [] };
  }
  const passed = report.numPassedTests;
  const skipped = report.numPendingTests + report.numTodoTests;
  const failedFiles = report.testResults.filter(({ status }) => status === 'failed').map(countFile);
  let failed = failedFiles.reduce((sum, file) => sum + file.failed, 0);
  let note = skipped > 0 ? `${skipped} skipped` : '';
  const outside = errors?.length ?? 0;
  if (outside > 0 || (failed === 0 && code !== 0)) {
    // Belongs to no file, so running a file again cannot clear it.
    failed += 1;
    note = `an error outside the tests (exit code ${code})`;
  } else if (failed === 0 && passed === 0) {
    failed = 1;
    note = 'no test ran';
  }
  const failures = [
    ...listFailures(report),
    ...(errors ?? []).map((words) => ({ name: 'outside the tests', words })),
  ];
  return { ok: failed === 0, passed, failed, skipped, note, failures, failedFiles };
}

function countFile(file) {
  const count = (status) => file.assertionResults.filter((test) => test.status === status).length;
  // A file that cannot be loaded has no failed test in it, and still must not count as nothing.
  return { path: file.name, passed: count('passed'), failed: Math.max(1, count('failed')) };
}

/** Each failed test, or file that could not be loaded, with the beginning of its message. */
function listFailures(report) {
  return report.testResults.flatMap((file) => {
    const name = relative(root, file.name);
    const tests = file.assertionResults.filter((test) => test.status === 'failed');
    if (tests.length === 0) {
      return file.status === 'failed' ? [{ path: file.name, name, words: file.message }] : [];
    }
    return tests.map((test) => ({
      path: file.name,
      name: `${name} > ${test.fullName}`,
      words: test.failureMessages.join('\n'),
    }));
  });
}

export function printSummary(results) {
  const width = Math.max(...results.map((result) => result.name.length));
  console.log('\nSummary');
  for (const { name, ok, leftOut, passed, failed, note, unstable = [] } of results) {
    const word = leftOut ? 'left out' : ok ? 'ok' : 'failed';
    const counts = passed === undefined ? '' : `${passed} passed, ${failed} failed`;
    const doubt = unstable.length > 0 ? `${unstable.length} unstable` : '';
    console.log(
      `  ${name.padEnd(width)}  ${word.padEnd(8)}  ${[counts, doubt, note].filter(Boolean).join('; ')}`.trimEnd(),
    );
  }
  // Again at the very end: the report of a long run is thousands of lines above.
  for (const { path, failures } of results.flatMap((result) => result.unstable ?? [])) {
    console.log(`\nUnstable: ${relative(root, path)} failed, and passed when it ran once more, alone.`);
    for (const failure of failures) printFailure('First failure', failure);
  }
  for (const failure of results.flatMap((result) => result.failures ?? [])) printFailure('Failed', failure);
}

function printFailure(label, { name, words }) {
  console.log(`\n${label}: ${name}`);
  console.log(shorten(stripVTControlCharacters(words)));
}

function shorten(words) {
  const lines = words.split('\n').filter((line) => !line.includes('/node_modules/'));
  return lines.slice(0, failureLines).join('\n');
}

export function heading(name) {
  console.log(headingOf(name));
}

const headingOf = (name) => `\n── ${name}`;

/**
 * Returns the exit code; a program that was killed or did not start counts as failed. Its output goes to the screen, or
 * into the file `output`.
 */
function run(file, args, { env = {}, output } = {}) {
  const written = output === undefined ? null : openSync(output, 'w');
  return new Promise((resolve) => {
    const stdio = written === null ? 'inherit' : ['ignore', written, written];
    const child = spawn(file, args, { cwd: root, stdio, env: { ...process.env, ...env } });
    child.on('error', (error) => {
      console.error(`${file} did not start: ${error.message}`);
      resolve(1);
    });
    child.on('exit', (code) => resolve(code ?? 1));
  }).finally(() => {
    if (written !== null) closeSync(written);
  });
}

async function readJson(path) {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT' || error instanceof SyntaxError) return null;
    throw error;
  }
}
