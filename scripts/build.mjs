// Compiles src/ into dist/, and does nothing when dist/ already is what src/ says.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');
const stampFile = join(dist, '.stamp');
const scratchPrefix = '.building-';
const scratchMaxAgeMs = 3_600_000;

/** Builds if needed. Answers what it did, or the compiler's words when it could not. */
export async function build() {
  const stamp = await sourceStamp();
  if (await isFresh(stamp)) return { status: 'fresh' };
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  if (!existsSync(compiler)) {
    return { status: 'failed', message: 'TypeScript is not installed. Run `npm ci` and try again.' };
  }
  try {
    await mkdir(dist, { recursive: true });
    await removeAbandonedScratch();
    // Inside dist, so that moving a finished file into its place is a rename on one file system.
    const scratch = await mkdtemp(join(dist, scratchPrefix));
    try {
      return await compileInto({ scratch, compiler, stamp });
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  } catch (error) {
    return { status: 'failed', message: `dist/ could not be written: ${error.message}` };
  }
}

async function compileInto({ scratch, compiler, stamp }) {
  const run = spawnSync(
    process.execPath,
    [compiler, '-p', join(root, 'tsconfig.build.json'), '--outDir', scratch],
    { cwd: root, encoding: 'utf8' },
  );
  if (run.error) return { status: 'failed', message: `The compiler did not start: ${run.error.message}` };
  if (run.status !== 0) return { status: 'failed', message: `${run.stdout}${run.stderr}`.trim() };
  await publish({ scratch, stamp });
  return { status: 'built' };
}

// File by file and never the directory as a whole: dist/ exists at every moment, each file in it is complete at
// every moment, and two builds of the same source at once put the same bytes in the same places. The stamp goes
// first and comes back last, so a build that dies in between is not taken for a finished one.
async function publish({ scratch, stamp }) {
  await rm(stampFile, { force: true });
  const built = await listFiles(scratch);
  for (const file of built) {
    const from = join(scratch, file);
    const to = join(dist, file);
    await mkdir(dirname(to), { recursive: true });
    if (file === 'main.js') await chmod(from, 0o755);
    await rename(from, to);
  }
  const wanted = new Set(built);
  for (const file of await listFiles(dist)) {
    if (!wanted.has(file)) await rm(join(dist, file), { force: true });
  }
  const newStamp = join(scratch, 'stamp');
  await writeFile(newStamp, stamp);
  await rename(newStamp, stampFile);
}

// Contents and not modification times: a fresh clone, a branch switch and a copy all give new times.
async function sourceStamp() {
  const hash = createHash('sha256');
  const sources = (await listFiles(join(root, 'src')))
    .filter((file) => !file.endsWith('.test.ts'))
    .map((file) => join('src', file));
  const settings = ['tsconfig.json', 'tsconfig.build.json', 'package.json'];
  for (const file of [...settings, ...sources.sort()]) {
    hash
      .update(`${file}\0`)
      .update(await readFile(join(root, file)))
      .update('\0');
  }
  return hash.digest('hex');
}

async function isFresh(stamp) {
  try {
    return (await readFile(stampFile, 'utf8')) === stamp;
  } catch (error) {
    if (error.code === 'ENOENT') return false;
    throw error;
  }
}

// Walks by hand, because another build's scratch directory may vanish under a recursive readdir.
async function listFiles(directory) {
  const found = [];
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (entry.name.startsWith(scratchPrefix) || entry.name === '.stamp') continue;
    if (entry.isFile()) found.push(entry.name);
    if (!entry.isDirectory()) continue;
    for (const file of await listFiles(join(directory, entry.name))) found.push(join(entry.name, file));
  }
  return found;
}

async function removeAbandonedScratch() {
  for (const name of await readdir(dist)) {
    if (!name.startsWith(scratchPrefix)) continue;
    const path = join(dist, name);
    const found = await stat(path).catch(() => null);
    if (found && Date.now() - found.mtimeMs > scratchMaxAgeMs)
      await rm(path, { recursive: true, force: true });
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const result = await build();
  if (result.status === 'failed') {
    console.error(`The build failed.\n${result.message}`);
    process.exitCode = 1;
  } else {
    console.error(result.status === 'fresh' ? 'dist/ is up to date.' : 'Built dist/.');
  }
}
