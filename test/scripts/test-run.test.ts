import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const root = path.join(import.meta.dirname, '../..');

// Each run is a real `node scripts/test.mjs` on a project of its own, with a file that counts how often it ran.
const passing = `
  test('always passes', () => {});
`;
const failingOnce = `
  test('beside it passes', () => {});
  test('fails at the first run', () => expect(countRun('once')).toBeGreaterThan(1));
`;
const failingAlways = `
  test('fails at every run', () => expect('run ' + countRun('always')).toBe('never'));
`;
const brokenOnce = `
  if (countRun('broken') === 1) throw new Error('cannot be loaded yet');
  test('passes when the file can be loaded', () => {});
`;
const errorOutside = `
  test('passes and leaves an error behind', () => {
    if (countRun('outside') === 1) void Promise.reject(new Error('nobody waits for this'));
  });
`;

let project = '';

beforeEach(async () => {
  project = await mkdtemp(path.join(tmpdir(), 'sluice-test-run-'));
  await symlink(path.join(root, 'node_modules'), path.join(project, 'node_modules'));
  await writeFile(path.join(project, 'vitest.config.mjs'), 'export default {};');
});
afterEach(() => rm(project, { recursive: true, force: true }));

describe('a test run', () => {
  test('passes when a file fails once, and names that file as unstable with its first failure', async () => {
    await writeTests({ passing, failingOnce });
    const { code, output } = await runTests([]);
    expect(output).toMatch(/^Unstable: \S+failingOnce\.test\.mjs failed, and passed when it ran once more/m);
    expect(output).toContain('First failure: ');
    expect(output).toContain('expected 1 to be greater than 1');
    expect(closingLines(output)).toEqual(['Unstable: 1 file, see above.', '3 passed, 0 failed']);
    expect(code).toBe(0);
    expect(await runsOf('once')).toBe(2);
  });

  test('fails with --strict when a file fails once', async () => {
    await writeTests({ passing, failingOnce });
    const { code, output } = await runTests(['--strict']);
    expect(closingLines(output)).toEqual([
      'Unstable: 1 file, see above; --strict makes this a failure.',
      '3 passed, 0 failed',
    ]);
    expect(code).toBe(1);
  });

  test('fails when a file fails twice, and shows both failures', async () => {
    await writeTests({ passing, failingAlways });
    const { code, output } = await runTests([]);
    const failures = output.slice(output.indexOf('\nSummary'));
    expect(failures).toMatch(/Failed: \S+failingAlways\.test\.mjs > fails at every run\n.*run 1/);
    expect(failures).toMatch(/fails at every run \(once more, alone\)\n.*run 2/);
    expect(closingLines(output)).toEqual(['Unstable: 0 files.', '1 passed, 1 failed']);
    expect(code).toBe(1);
    expect(await runsOf('always')).toBe(2);
  });

  test('runs every file once when nothing fails', async () => {
    await writeTests({ passing, counting: `test('counts', () => void countRun('counting'));` });
    const { code, output } = await runTests(['--strict']);
    expect(closingLines(output)).toEqual(['Unstable: 0 files.', '2 passed, 0 failed']);
    expect(code).toBe(0);
    expect(await runsOf('counting')).toBe(1);
  });

  test('counts the tests of a file that can be loaded only at the second try', async () => {
    await writeTests({ passing, brokenOnce });
    const { code, output } = await runTests([]);
    expect(output).toContain('cannot be loaded yet');
    expect(closingLines(output)).toEqual(['Unstable: 1 file, see above.', '2 passed, 0 failed']);
    expect(code).toBe(0);
  });

  test('keeps an error outside the tests as a failure, even when every failed file passes later', async () => {
    await writeTests({ errorOutside, failingOnce });
    const { code, output } = await runTests([]);
    expect(output).toContain('nobody waits for this');
    expect(closingLines(output)).toEqual(['Unstable: 1 file, see above.', '3 passed, 1 failed']);
    expect(code).toBe(1);
  });

  test('runs only the failed file again, with the options and without the files that were named', async () => {
    const counting = `test('fails at the second file', () => void countRun('counting'));`;
    await writeTests({ counting, failingOnce });
    const { output } = await runTests(['-t', 'fails at', 'counting', 'failingOnce']);
    expect(closingLines(output)).toEqual(['Unstable: 1 file, see above.', '2 passed, 0 failed']);
    expect(await runsOf('counting')).toBe(1);
  });
});

async function writeTests(files: Record<string, string>): Promise<void> {
  for (const [name, body] of Object.entries(files)) {
    const head = `import { appendFileSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
function countRun(name) {
  appendFileSync(${JSON.stringify(project)} + '/' + name, 'x');
  return readFileSync(${JSON.stringify(project)} + '/' + name).length;
}
`;
    await writeFile(path.join(project, `${name}.test.mjs`), head + body);
  }
}

const runsOf = async (name: string) => (await readFile(path.join(project, name))).length;

async function runTests(args: string[]): Promise<{ code: number; output: string }> {
  // The outer run's own variables would make the inner one report to it.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/VITEST|^TEST$/.test(name)));
  const child = spawn(process.execPath, ['scripts/test.mjs', '--root', project, ...args], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? -1)));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await ended, output: stripVTControlCharacters(err + out) };
}

function closingLines(output: string): string[] {
  return output.trimEnd().split('\n').slice(-2);
}
