import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { threadFile } from './thread-file.ts';

test('a thread runs the built file, and whoever has not built is told to', async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'sluice-thread-'));
  onTestFinished(() => rm(root, { recursive: true }));
  await mkdir(path.join(root, 'dist'));
  const built = path.join(root, 'dist/some-thread.js');
  await writeFile(built, '');
  expect(threadFile('some-thread', root).href).toBe(pathToFileURL(built).href);
  expect(() => threadFile('other-thread', root)).toThrow(/other-thread.*npm run build/);
});
