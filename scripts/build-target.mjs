// A directory that is made from sources: built aside, moved into place file by file, and left alone while its stamp
// says that the sources have not changed.
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const scratchPrefix = '.building-';
const stampName = '.stamp';
const scratchMaxAgeMs = 3_600_000;

/**
 * Builds `directory` unless its stamp is `stamp`. `make(scratch)` fills the scratch directory and returns null, or a
 * sentence that says why it could not.
 */
export async function buildTarget({ name, directory, stamp, make }) {
  try {
    if (await hasStamp({ directory, stamp })) return { status: 'fresh' };
    await mkdir(directory, { recursive: true });
    await removeAbandonedScratch(directory);
    // Inside the directory, so that moving a finished file into its place is a rename on one file system.
    const scratch = await mkdtemp(join(directory, scratchPrefix));
    try {
      const message = await make(scratch);
      if (message !== null) return { status: 'failed', message };
      await publish({ scratch, directory, stamp });
      return { status: 'built' };
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  } catch (error) {
    return { status: 'failed', message: `${name} could not be written: ${error.message}` };
  }
}

/** Contents and not modification times: a fresh clone, a branch switch and a copy all give new times. */
export async function stampOf({ root, files }) {
  const hash = createHash('sha256');
  for (const file of [...files].sort()) {
    hash
      .update(`${file}\0`)
      .update(await readFile(join(root, file)))
      .update('\0');
  }
  return hash.digest('hex');
}

/** Walks by hand, because another build's scratch directory may vanish under a recursive readdir. */
export async function listFiles(directory, { leaveOut = [] } = {}) {
  const found = [];
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (entry.name.startsWith(scratchPrefix) || entry.name === stampName) continue;
    if (leaveOut.includes(entry.name)) continue;
    if (entry.isFile()) found.push(entry.name);
    if (!entry.isDirectory()) continue;
    for (const file of await listFiles(join(directory, entry.name))) found.push(join(entry.name, file));
  }
  return found;
}

async function hasStamp({ directory, stamp }) {
  try {
    return (await readFile(join(directory, stampName), 'utf8')) === stamp;
  } catch (error) {
    if (error.code === 'ENOENT') return false;
    throw error;
  }
}

// File by file and never the directory as a whole: it exists at every moment, each file in it is complete at every
// moment, and two builds of the same source at once put the same bytes in the same places. The stamp goes first and
// comes back last, so a build that dies in between is not taken for a finished one.
async function publish({ scratch, directory, stamp }) {
  await rm(join(directory, stampName), { force: true });
  const built = await listFiles(scratch);
  for (const file of built) {
    const to = join(directory, file);
    await mkdir(dirname(to), { recursive: true });
    await rename(join(scratch, file), to);
  }
  const wanted = new Set(built);
  for (const file of await listFiles(directory)) {
    if (!wanted.has(file)) await rm(join(directory, file), { force: true });
  }
  const newStamp = join(scratch, 'stamp');
  await writeFile(newStamp, stamp);
  await rename(newStamp, join(directory, stampName));
}

async function removeAbandonedScratch(directory) {
  for (const name of await readdir(directory)) {
    if (!name.startsWith(scratchPrefix)) continue;
    const path = join(directory, name);
    const found = await stat(path).catch(() => null);
    if (found && Date.now() - found.mtimeMs > scratchMaxAgeMs)
      await rm(path, { recursive: true, force: true });
  }
}
