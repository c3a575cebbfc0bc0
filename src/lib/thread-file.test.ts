import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { threadFile } from './thread-file.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'sluice-thread-'));
  await mkdir(path.join(root, 'dist/lib'), { recursive: true });
  await writeFile(path.join(root, 'dist/lib/some-thread.js'), '');
});
afterEach(() => rm(root, { recursive: true }));

const urlOf = (file: string) => pathToFileURL(path.join(root, file)).href;

test('a built module starts the built file beside it', () => {
  expect(threadFile(urlOf('dist/lib/some.js'), './some-thread.ts').href).toBe(
    urlOf('dist/lib/some-thread.js'),
  );
});

test('a module that runs from source starts the built file, and says so when there is none', () => {
  expect(threadFile(urlOf('src/lib/some.ts'), './some-thread.ts').href).toBe(
    urlOf('dist/lib/some-thread.js'),
  );
  expect(() => threadFile(urlOf('src/lib/some.ts'), './other-thread.ts')).toThrow(
    /other-thread\.ts.*npm run build/,
  );
});
