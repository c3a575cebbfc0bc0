import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { houses } from '../../houses.ts';
import type { ErrorCatalogue } from '../../lib/errors.ts';
import { ownChapters } from './error-catalogue.ts';

const root = path.join(import.meta.dirname, '../../..');
const { renderErrorsDocument } = await import(path.join(root, 'scripts/pages/errors.mjs'));

const chapters = [...ownChapters, ...houses.flatMap((house) => house.errors)];
const codes = chapters.flatMap(({ catalogue }) => Object.keys(catalogue.definitions));

/** Every code of a catalogue that a module under src exports. */
async function definedCodes(): Promise<string[]> {
  const files = (await readdir(path.join(root, 'src'), { recursive: true })).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
  );
  const found: string[] = [];
  for (const file of files) {
    const text = await readFile(path.join(root, 'src', file), 'utf8');
    const names = [...text.matchAll(/export const (\w+) = defineErrors\(/g)].map(([, name]) => name ?? '');
    if (names.length === 0) continue;
    const module: Record<string, ErrorCatalogue> = await import(path.join(root, 'src', file));
    for (const name of names) found.push(...Object.keys(module[name]?.definitions ?? {}));
  }
  return found;
}

describe('the error catalogue', () => {
  test('is what docs/errors.md says', async () => {
    const text = await readFile(path.join(root, 'docs/errors.md'), 'utf8');
    expect(text, 'run `npm run generate`').toBe(renderErrorsDocument(chapters));
  });

  test('has every code that a module of the program defines', async () => {
    const defined = await definedCodes();
    expect(defined.length).toBeGreaterThan(100);
    expect(defined.filter((code) => !codes.includes(code))).toEqual([]);
  });

  test('has every code once', () => {
    expect(codes.filter((code, index) => codes.indexOf(code) !== index)).toEqual([]);
  });

  test('has stable, readable codes, and a title and a next step for each', () => {
    for (const [code, definition] of chapters.flatMap(({ catalogue }) =>
      Object.entries(catalogue.definitions),
    )) {
      expect(code).toMatch(/^[a-z][a-z0-9_]+$/);
      expect(definition.status).toBeGreaterThanOrEqual(400);
      expect(definition.title.length, code).toBeGreaterThan(5);
      expect(definition.next, code).toMatch(/\.$/);
    }
  });
});
