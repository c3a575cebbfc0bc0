import { existsSync } from 'node:fs';
import path from 'node:path';

/** Where Sluice is installed: the directory of its package.json, found from src/ and from what is built of it. */
export const packageDir = directoryAbove(import.meta.dirname);

function directoryAbove(directory: string): string {
  if (existsSync(path.join(directory, 'package.json'))) return directory;
  const parent = path.dirname(directory);
  if (parent === directory) {
    throw new Error(`There is no package.json above ${import.meta.dirname}; install Sluice again`);
  }
  return directoryAbove(parent);
}
