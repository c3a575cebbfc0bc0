// What `npm run check` and `npm test` have in common: named steps, vitest runs that are counted, and a summary.
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

export const root = fileURLToPath(new URL('..', import.meta.url));

const failureLines = 12;
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
 * Runs a Node program of ours with its output on the screen; answers the step's result. With `later` what it says comes
 * in one piece at its end: for steps that run at the same time.
 */
export async function runCheck({ name, command, later = false }) {
  const code = await inScratch((scratch) =>
    runStep({ name, file: process.execPath, args: command, later, scratch }),
  );
  return { name, ok: code === 0, note: code === 0 ? '' : `exit code ${code}` };
}

/** Runs vitest with its usual reporter and counts the tests beside it. `node` says with which Node. */
export function runVitest({ name, args, node = process.execPath, env = {}, later = false }) {
  return inScratch(async (scratch) => {
    const report = join(scratch, 'report.json');
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
    const vitest = [bin('vitest/vitest.mjs'), 'run', ...reporters, ...args];
    const code = await runStep({ name, file: node, args: vitest, env, later, scratch });
    return { name, ...countTests({ code, report: await readReport(report) }) };
  });
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

/** Turns vitest's exit code and JSON report (null: it wrote none) into the counts that the summary adds up. */
export function countTests({ code, report }) {
  if (!report)
    return { ok: false, passed: 0, failed: 1, skipped: 0, note: `vitest ended with ${code}, no report` };
  const passed = report.numPassedTests;
  const skipped = report.numPendingTests + report.numTodoTests;
  // A file that cannot be loaded has no failed test in it, and still must not count as nothing.
  const brokenFiles = report.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  ).length;
  let failed = report.numFailedTests + brokenFiles;
  let note = skipped > 0 ? `${skipped} skipped` : '';
  if (failed === 0 && code !== 0) {
    failed = 1;
    note = `an error outside the tests (exit code ${code})`;
  } else if (failed === 0 && passed === 0) {
    failed = 1;
    note = 'no test ran';
  }
  return { ok: failed === 0, passed, failed, skipped, note, failures: listFailures(report) };
}

/** Each failed test, or file that could not be loaded, with the beginning of what it said. */
function listFailures(report) {
  return report.testResults.flatMap((file) => {
    const path = relative(root, file.name);
    const tests = file.assertionResults.filter((test) => test.status === 'failed');
    if (tests.length === 0) return file.status === 'failed' ? [{ name: path, words: file.message }] : [];
    return tests.map((test) => ({
      name: `${path} > ${test.fullName}`,
      words: test.failureMessages.join('\n'),
    }));
  });
}

export function printSummary(results) {
  const width = Math.max(...results.map((result) => result.name.length));
  console.log('\nSummary');
  for (const { name, ok, leftOut, passed, failed, note } of results) {
    const word = leftOut ? 'left out' : ok ? 'ok' : 'failed';
    const counts = passed === undefined ? '' : `${passed} passed, ${failed} failed`;
    console.log(
      `  ${name.padEnd(width)}  ${word.padEnd(8)}  ${[counts, note].filter(Boolean).join('; ')}`.trimEnd(),
    );
  }
  // Again at the very end: the report of a long run is thousands of lines above.
  for (const { name, words } of results.flatMap((result) => result.failures ?? [])) {
    console.log(`\nFailed: ${name}`);
    console.log(shorten(stripVTControlCharacters(words)));
  }
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
 * Answers the exit code; a program that was killed or did not start counts as failed. What it says goes to the screen,
 * or into the file `output`.
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

async function readReport(path) {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT' || error instanceof SyntaxError) return null;
    throw error;
  }
}
