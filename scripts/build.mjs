// Compiles src/ into dist/ and console/ into console/dist/. Skips each of them that is up to date with its sources.
// `node scripts/build.mjs server` leaves the console out.
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { buildTarget, listFiles, stampOf } from './build-target.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const consoleDir = join(root, 'console');

/** Builds both where needed. Returns what it did, or the output of the program that failed. */
export async function build() {
  const [server, page] = await Promise.all([buildServer(), buildConsole()]);
  const failed = [server, page].filter(({ status }) => status === 'failed');
  if (failed.length > 0) {
    return { status: 'failed', message: failed.map(({ message }) => message).join('\n') };
  }
  return { status: [server, page].some(({ status }) => status === 'built') ? 'built' : 'fresh' };
}

/** src/ into dist/: the program as a few bundles, and each module alone for its types and for tools. */
export async function buildServer() {
  const configs = ['tsconfig.json', 'tsconfig.build.json', 'package.json', 'package-lock.json'];
  const settings = [...configs, 'scripts/bundle.mjs'];
  const sources = (await listFiles(join(root, 'src')))
    .filter((file) => !file.endsWith('.test.ts'))
    .map((file) => join('src', file));
  const stamp = await stampOf({ root, files: [...settings, ...sources] });
  return buildTarget({ name: 'dist/', directory: join(root, 'dist'), stamp, make: compileServer });
}

async function compileServer(scratch) {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  if (!existsSync(compiler)) return 'TypeScript is not installed. Run `npm ci` and try again.';
  const { bundleServer } = await import('./bundle.mjs');
  const modules = ['-p', join(root, 'tsconfig.build.json'), '--outDir', join(scratch, 'modules')];
  const [wrongTypes, notBundled] = await Promise.all([
    run([compiler, ...modules], root),
    bundleServer({ root, directory: scratch }),
  ]);
  if (wrongTypes === null && notBundled === null) await chmod(join(scratch, 'main.js'), 0o755);
  return wrongTypes ?? notBundled;
}

/** console/ into console/dist/. Without Vite or the sources, an existing build is served unchanged. */
async function buildConsole() {
  const vite = join(root, 'node_modules/vite/bin/vite.js');
  if (!existsSync(vite) || !existsSync(join(consoleDir, 'index.html'))) return { status: 'fresh' };
  const sources = (await listFiles(consoleDir, { leaveOut: ['dist', 'node_modules', 'README.md'] }))
    .filter((file) => !/\.test\.tsx?$/.test(file))
    .map((file) => join('console', file));
  const stamp = await stampOf({ root, files: ['package-lock.json', ...sources] });
  const make = (scratch) => bundleConsole({ vite, scratch });
  return buildTarget({ name: 'console/dist/', directory: join(consoleDir, 'dist'), stamp, make });
}

async function bundleConsole({ vite, scratch }) {
  const message = await run([vite, 'build', '--outDir', scratch, '--logLevel', 'warn'], consoleDir);
  if (message === null) await compressAssets(scratch);
  return message;
}

const worthCompressing = /\.(js|css|svg|json|txt)$/;
const compressedFromBytes = 1024;
// Level 9 is within two percent of 11 on this code and takes a tenth of the time.
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

/** Compresses once here instead of at each request; the server sends the compressed file beside the original. */
async function compressAssets(directory) {
  for (const file of (await listFiles(directory)).filter((name) => worthCompressing.test(name))) {
    const content = await readFile(join(directory, file));
    if (content.length < compressedFromBytes) continue;
    await writeFile(join(directory, `${file}.br`), await promisify(brotliCompress)(content, brotliOptions));
    await writeFile(join(directory, `${file}.gz`), await promisify(gzip)(content, { level: 9 }));
  }
}

/** Runs a Node program; returns null on success, otherwise its output. */
function run(args, cwd) {
  return new Promise((resolve) => {
    // The build of the console does not depend on how the server will run.
    const env = { ...process.env, NODE_ENV: 'production' };
    const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const output = [];
    child.stdout.on('data', (chunk) => output.push(chunk));
    child.stderr.on('data', (chunk) => output.push(chunk));
    child.on('error', (error) => resolve(`${args[0]} did not start: ${error.message}`));
    child.on('close', (code) => {
      if (code === 0) return resolve(null);
      resolve(Buffer.concat(output).toString('utf8').trim() || `${args[0]} ended with ${code}`);
    });
  });
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const onlyServer = process.argv[2] === 'server';
  const result = await (onlyServer ? buildServer() : build());
  const made = onlyServer ? 'dist/' : 'dist/ and console/dist/';
  if (result.status === 'failed') {
    console.error(`The build failed.\n${result.message}`);
    process.exitCode = 1;
  } else {
    console.error(result.status === 'fresh' ? `Up to date: ${made}.` : `Built ${made}.`);
  }
}
