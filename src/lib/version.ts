import { readFileSync } from 'node:fs';
import path from 'node:path';
import { packageDir } from './package-dir.ts';

/** The version of this package. */
export function readVersion(): string {
  const file = path.join(packageDir, 'package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
