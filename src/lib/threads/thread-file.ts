import { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageDir } from '../package-dir.ts';

/**
 * The file that a worker thread runs, which is always the built one: a thread of Node 20 cannot read TypeScript,
 * whatever the thread that starts it can (in tests). `scripts/bundle.mjs` makes one of each `*-thread.ts`.
 */
export function threadFile(name: `${string}-thread`, directory = packageDir): URL {
  const file = path.join(directory, 'dist', `${name}.js`);
  if (!existsSync(file)) {
    throw new Error(`There is no built ${name} to run in a thread; run \`npm run build\` first`);
  }
  return pathToFileURL(file);
}
