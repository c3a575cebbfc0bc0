import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * The file that a worker thread runs, given next to the module that starts it. From source (in tests) it is the
 * built file in dist/: a thread of Node 20 cannot read TypeScript, whatever the thread that starts it can.
 */
export function threadFile(moduleUrl: string, file: string): URL {
  const url = new URL(file, moduleUrl);
  if (!moduleUrl.endsWith('.ts')) return new URL(url.href.replace(/\.ts$/, '.js'));
  const source = '/src/';
  const at = url.href.lastIndexOf(source);
  const built = `${url.href.slice(0, at)}/dist/${url.href.slice(at + source.length).replace(/\.ts$/, '.js')}`;
  if (at < 0 || !existsSync(fileURLToPath(built))) {
    throw new Error(`There is no built ${file} to run in a thread; run \`npm run build\` first`);
  }
  return new URL(built);
}
