import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { useCommandLine } from '../support/servers/command-line.ts';

vi.setConfig({ testTimeout: 300_000 });

const run = promisify(execFile);
const root = path.join(import.meta.dirname, '../..');
/** Builds the product. */
useCommandLine();
let place = '';
let snippets = new Map<string, string>();

beforeAll(async () => {
  const page = await readFile(path.join(root, 'docs/building.md'), 'utf8');
  snippets = new Map(
    [...page.matchAll(/^```js\n\/\/ (\S+)\n([\s\S]*?)^```$/gm)].map(([, name = '', code = '']) => [
      name,
      code,
    ]),
  );
  expect(snippets.size).toBe(page.match(/^```js$/gm)?.length);
  place = await mkdtemp(path.join(tmpdir(), 'sluice-building-'));
  await mkdir(path.join(place, 'node_modules'));
  await symlink(root, path.join(place, 'node_modules/sluice'));
  for (const name of ['zod', 'pg']) {
    await symlink(path.join(root, 'node_modules', name), path.join(place, 'node_modules', name));
  }
  for (const [name, code] of snippets) await writeFile(path.join(place, name), code);
});
afterAll(async () => {
  // Root's database is not below the folder, because PostgreSQL does not run as root.
  const location = await readFile(path.join(place, '.sluice/postgres.location'), 'utf8').catch(() => null);
  if (location !== null) await rm(path.dirname(location.trim()), { recursive: true, force: true });
  await rm(place, { recursive: true, force: true });
});

const node = async (...args: string[]) => (await run(process.execPath, args, { cwd: place })).stdout;

/** Each snippet of the page, and what it prints. Files that only define something are loaded. */
const programs: Record<string, { args: string[]; prints: RegExp }> = {
  'tasks.mjs': { args: ['tasks.mjs'], prints: /^$/ },
  'pipelines.mjs': { args: ['pipelines.mjs'], prints: /^$/ },
  'scheduled.mjs': { args: ['scheduled.mjs'], prints: /^$/ },
  'app.mjs': { args: ['app.mjs'], prints: /^success string\n$/ },
  'transaction.mjs': { args: ['transaction.mjs'], prints: /^success\n$/ },
  'server.mjs': { args: ['server.mjs'], prints: /^200\n401\n$/ },
  'welcome.test.mjs': { args: ['--test', 'welcome.test.mjs'], prints: /# pass 1\b/ },
};

test.each(Object.entries(programs))(
  'the snippet %s of building.md does what the page says',
  async (_name, program) => {
    expect(await node(...program.args)).toMatch(program.prints);
  },
);

test('no snippet of building.md is left out', () => {
  expect([...snippets.keys()].sort()).toEqual(Object.keys(programs).sort());
});
