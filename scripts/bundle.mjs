// Bundles the server, the command line, the library and the threads into a few files: a process loads them in a
// third of the time that it needs for a thousand small ones.
import { readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { rolldown } from 'rolldown';
import { listFiles } from './build-target.mjs';

/**
 * Only these packages are bundled, because they are many small ES modules themselves. The others stay as npm has
 * installed them: native, or loaded as quickly from there.
 */
const bundledPackages = ['zod', 'jose', '@fastify/type-provider-zod'];

/** Returns null on success, otherwise what is wrong. */
export async function bundleServer({ root, directory }) {
  try {
    const bundle = await rolldown({
      input: await listEntries(join(root, 'src')),
      external: (id) => !isPath(id) && !bundledPackages.includes(packageOf(id)),
      platform: 'node',
    });
    const { output } = await bundle.write({
      dir: directory,
      format: 'esm',
      sourcemap: true,
      chunkFileNames: 'parts/[name]-[hash].js',
    });
    await bundle.close();
    await writeLicenses({ root, output, file: join(directory, 'licenses.txt') });
    return null;
  } catch (error) {
    return `src/ could not be bundled: ${error.message}`;
  }
}

/** Entry points. Each is whole, because a test process is held back until all of it is loaded. */
async function listEntries(sources) {
  const threads = (await listFiles(sources)).filter((file) => file.endsWith('-thread.ts'));
  const files = ['main.ts', 'library.ts', 'testing.ts', 'app.ts', ...threads];
  return Object.fromEntries(files.map((file) => [basename(file, '.ts'), join(sources, file)]));
}

function isPath(id) {
  return id.startsWith('.') || id.startsWith('/');
}

function packageOf(id) {
  return id
    .split('/')
    .slice(0, id.startsWith('@') ? 2 : 1)
    .join('/');
}

/** The licences of the bundled packages, which must be shipped with the files. */
async function writeLicenses({ root, output, file }) {
  const modules = output.flatMap(({ moduleIds = [] }) => moduleIds);
  const texts = [];
  for (const name of bundledPackages) {
    // The bundler names modules by their real paths.
    const directory = await realpath(join(root, 'node_modules', name));
    if (!modules.some((id) => id.startsWith(directory)))
      throw new Error(`nothing of ${name} is in the bundle`);
    const license = (await readdir(directory)).find((entry) => /^licen[sc]e/i.test(entry));
    if (!license) throw new Error(`${name} has no licence file to pass on`);
    texts.push(`${name}\n\n${await readFile(join(directory, license), 'utf8')}`);
  }
  await writeFile(file, texts.join('\n\n---\n\n'));
}
