// `npm run mutants`: breaks the product on purpose, one line at a time, and expects the tests named in
// test/mutants.json to notice. With arguments (`npm run mutants -- fence-epoch`) only the mutants that they name.
// It works in a copy of the checkout, one mutant after the other. docs/benchmarks/mutants.md lists them.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { root } from './steps.mjs';

// A run of fewer mutants proves little, and an emptied list must not look like a success.
const fewestMutants = 15;
const runTimeoutMs = 5 * 60_000;
const stopTimeoutMs = 20_000;
const keptOutputLength = 4_000;

// A mutant must be a working program with different behaviour: one that does not parse fails every test, and
// proves nothing about the named one.
const brokenProgram =
  /syntax error at or near|\b(?:SyntaxError|ReferenceError): |\b(?:column|relation|function) \S+ does not exist/;

const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => interruption.abort());

const mutants = chooseMutants(JSON.parse(await readFile(join(root, 'test/mutants.json'), 'utf8')));
const copy = await mkdtemp(join(tmpdir(), 'sluice-mutants-'));
const temporary = join(copy, 'tmp');
try {
  // As root, PostgreSQL runs as another user, who must be able to reach its directory.
  await chmod(copy, 0o755);
  await mkdir(temporary);
  await copyCheckout(copy);
  process.exitCode = (await isGreenUnmutated()) && (await runMutants()) ? 0 : 1;
} finally {
  await stopLeftServers();
  await rm(copy, { recursive: true, force: true });
}

function chooseMutants(all) {
  const names = process.argv.slice(2);
  const unknown = names.filter((name) => !all.some((mutant) => mutant.id === name));
  if (unknown.length > 0) {
    console.error(
      `There is no mutant ${unknown.join(', ')}. There are: ${all.map(({ id }) => id).join(', ')}.`,
    );
    process.exit(1);
  }
  return names.length > 0 ? all.filter(({ id }) => names.includes(id)) : all;
}

/** The files that git tracks or would add, as they are now; node_modules is only linked. */
async function copyCheckout(target) {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  // Listed but missing: deleted and not committed yet.
  const files = listed.split('\0').filter((file) => file !== '' && existsSync(join(root, file)));
  for (const file of files) await cp(join(root, file), join(target, file), { verbatimSymlinks: true });
  await symlink(join(root, 'node_modules'), join(target, 'node_modules'));
}

/** A test that is red without a mutant, or missing, would count as killing every mutant. */
async function isGreenUnmutated() {
  console.log('The named tests without a mutant:');
  let green = true;
  for (const file of new Set(mutants.map(({ test }) => test))) {
    const names = new Set(mutants.filter(({ test }) => test === file).flatMap(({ killedBy }) => killedBy));
    const { results, problem } = await runTests(file, [...names]);
    const notGreen = [...names].filter((name) => results.get(name)?.status !== 'passed');
    console.log(`  ${file}: ${names.size - notGreen.length} of ${names.size} green`);
    for (const name of notGreen) {
      console.error(`    not green: ${name} (${results.get(name)?.status ?? 'no such test ran'})`);
    }
    if (problem) console.error(problem);
    green &&= notGreen.length === 0 && !problem;
  }
  if (!green)
    console.error('\nNo mutant was tried. Make these tests pass, or name other ones, and run again.');
  return green;
}

async function runMutants() {
  const rows = mutants.map(({ id, killedBy }) => ({ id, by: abbreviate(killedBy) }));
  const idWidth = Math.max(...rows.map(({ id }) => id.length));
  const byWidth = Math.max(...rows.map(({ by }) => by.length));
  console.log(`\n${'mutant'.padEnd(idWidth)} | ${'killed by'.padEnd(byWidth)} | verdict`);
  const count = { ok: 0, SURVIVED: 0, STALE: 0 };
  for (const [index, mutant] of mutants.entries()) {
    const { verdict, why } = await tryMutant(mutant);
    if (interruption.signal.aborted) break;
    count[verdict] += 1;
    const { id, by } = rows[index];
    console.log(`${id.padEnd(idWidth)} | ${by.padEnd(byWidth)} | ${verdict}`);
    if (why) console.log(`  ${why.replaceAll('\n', '\n  ')}`);
  }
  return isProof(count);
}

function isProof(count) {
  const stale = count.STALE > 0 ? `, ${count.STALE} stale` : '';
  console.log(`\n${count.ok} killed, ${count.SURVIVED} survived${stale}`);
  const ran = count.ok + count.SURVIVED;
  if (interruption.signal.aborted) console.error(`Interrupted after ${ran} of ${mutants.length} mutants.`);
  if (ran < fewestMutants) {
    console.error(
      `Only ${ran} mutants ran. A run counts as passed from ${fewestMutants} on; name none to run all.`,
    );
  }
  return !interruption.signal.aborted && count.SURVIVED + count.STALE === 0 && ran >= fewestMutants;
}

async function tryMutant(mutant) {
  const file = join(copy, mutant.file);
  const original = existsSync(file) ? await readFile(file, 'utf8') : null;
  if (original === null) return { verdict: 'STALE', why: `There is no ${mutant.file} any more.` };
  const { changed, stale } = mutate(original, mutant);
  if (stale) return { verdict: 'STALE', why: `${stale}\nAdapt the entry in test/mutants.json to the code.` };
  await writeFile(file, changed);
  try {
    return judge(mutant, await runTests(mutant.test, mutant.killedBy));
  } finally {
    await writeFile(file, original);
  }
}

function mutate(text, { file, after, find, replace }) {
  const wanted = toText(find);
  const parts = text.split(after);
  if (parts.length !== 2)
    return { stale: `${file} has "${after}" ${parts.length - 1} times instead of once.` };
  const start = parts[0].length;
  const end = endOfBlock(text, start);
  const pieces = text.slice(start, end).split(wanted);
  if (pieces.length !== 2) {
    const times = `${pieces.length - 1} times instead of once`;
    return { stale: `In the block of "${after}", ${file} has this ${times}:\n${wanted}` };
  }
  const changed = text.slice(0, start) + pieces.join(toText(replace)) + text.slice(end);
  return changed === text ? { stale: `The replacement leaves ${file} as it is.` } : { changed };
}

/** A block ends with the first line that closes something no deeper than the line it began in: `}`, SQL's `end`. */
function endOfBlock(text, start) {
  const line = text.slice(text.lastIndexOf('\n', start) + 1);
  const indent = line.search(/\S/);
  // `}: Options) {` closes the parameters and opens the body.
  const close = new RegExp(`\\n {0,${indent}}(?:\\}|end\\b)(?![^\\n]*\\{\\n)[^\\n]*\\n`).exec(
    text.slice(start),
  );
  return close ? start + close.index + close[0].length : text.length;
}

/** Text of several lines is a list in the file, for readability. */
function toText(lines) {
  return Array.isArray(lines) ? lines.join('\n') : lines;
}

/** Each named test has to fail: a test that stays green does not protect against the mutant. */
function judge({ killedBy }, { results, problem }) {
  const failed = killedBy.filter((name) => results.get(name)?.status === 'failed');
  const broken = failed
    .flatMap((name) => results.get(name).failureMessages)
    .find((text) => brokenProgram.test(text));
  if (broken) return { verdict: 'STALE', why: `The mutant is not a working program: ${firstLine(broken)}` };
  if (failed.length === killedBy.length) return { verdict: 'ok' };
  const others = killedBy.filter((name) => !failed.includes(name));
  // Without a result for any test, the mutant broke the run and proves nothing.
  if (others.every((name) => results.get(name)?.status !== 'passed')) {
    return { verdict: 'STALE', why: `No verdict on: ${others.join('; ')}\n${problem}`.trimEnd() };
  }
  return { verdict: 'SURVIVED', why: `Did not fail: ${others.join('; ')}` };
}

/** Runs these tests of a file in the copy; returns name → result, and what else went wrong. */
async function runTests(file, names) {
  const report = join(copy, 'mutants-report.json');
  await rm(report, { force: true });
  const { code, output } = await runVitest([
    ...['run', file, '--testNamePattern', patternOf(names)],
    ...['--reporter=json', `--outputFile=${report}`],
  ]);
  if (!existsSync(report)) {
    return { results: new Map(), problem: `vitest ended with ${code} and no report:\n${output}` };
  }
  const files = JSON.parse(await readFile(report, 'utf8')).testResults;
  const tests = files.flatMap(({ assertionResults }) => assertionResults);
  const results = new Map(tests.map((test) => [nameOf(test), test]));
  const problem = files.map(({ message }) => message).find((text) => text);
  return { results, problem: problem ?? (tests.length === 0 ? output : '') };
}

/** vitest's filter sees the names of suite and test with a space between. */
function patternOf(names) {
  const escaped = names.map((name) => name.replaceAll(' > ', ' ').replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return `^(?:${escaped.join('|')})$`;
}

function nameOf({ ancestorTitles, title }) {
  return [...ancestorTitles, title].filter((part) => part !== '').join(' > ');
}

function runVitest(args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...args], {
      cwd: copy,
      // Its own process group: a mutant may loop forever in a process that vitest forked.
      detached: true,
      env: { ...process.env, TMPDIR: temporary, NO_COLOR: '1', FORCE_COLOR: undefined },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const keep = (chunk) => {
      output = (output + chunk).slice(-keptOutputLength);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    const stop = () => signalGroup(child.pid, 'SIGKILL');
    const timer = setTimeout(() => {
      keep(`\nNot finished after ${runTimeoutMs / 1000} s.`);
      stop();
    }, runTimeoutMs);
    interruption.signal.addEventListener('abort', stop, { once: true });
    if (interruption.signal.aborted) stop();
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      interruption.signal.removeEventListener('abort', stop);
      resolve({ code, output });
    });
  });
}

function signalGroup(pid, signal) {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/** An aborted run leaves its PostgreSQL behind. Every server in this directory belongs to this run. */
async function stopLeftServers() {
  const files = await readdir(temporary, { recursive: true });
  for (const file of files.filter((name) => basename(name) === 'postmaster.pid')) {
    const pidFile = join(temporary, file);
    const pid = Number((await readFile(pidFile, 'utf8')).split('\n', 1)[0]);
    if (!Number.isInteger(pid) || pid <= 1) continue;
    const isRunning = () => existsSync(pidFile) && isAlive(pid);
    if (isRunning()) process.kill(pid, 'SIGINT');
    for (const deadline = Date.now() + stopTimeoutMs; isRunning() && Date.now() < deadline; ) await delay(50);
    if (isRunning()) console.error(`PostgreSQL with process id ${pid} does not stop. Stop it by hand.`);
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    if (error.code === 'ESRCH') return false;
    throw error;
  }
}

function abbreviate([first, ...others]) {
  return others.length > 0 ? `${first} (and ${others.length} more)` : first;
}

function firstLine(text) {
  return text.split('\n', 1)[0];
}
