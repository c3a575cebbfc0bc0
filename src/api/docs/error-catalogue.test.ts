import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { errorChapters, renderErrorsDocument } from './error-catalogue.ts';

const root = path.join(import.meta.dirname, '../../..');

/** Every module under src that makes a catalogue, with the names that it exports it under. */
async function catalogueNames(): Promise<string[]> {
  const files = (await readdir(path.join(root, 'src'), { recursive: true })).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
  );
  const names: string[] = [];
  for (const file of files) {
    const text = await readFile(path.join(root, 'src', file), 'utf8');
    for (const [, name] of text.matchAll(/export const (\w+) = defineErrors\(/g)) names.push(name ?? '');
  }
  return names;
}

describe('the error catalogue', () => {
  test('is what docs/errors.md says', async () => {
    const text = await readFile(path.join(root, 'docs/errors.md'), 'utf8');
    expect(text, 'run `npm run generate`').toBe(renderErrorsDocument());
  });

  test('has every catalogue of the program', async () => {
    const imports = await readFile(path.join(import.meta.dirname, 'error-catalogue.ts'), 'utf8');
    const names = await catalogueNames();
    expect(names.length).toBeGreaterThan(5);
    expect(names.filter((name) => !imports.includes(`catalogue: ${name} }`))).toEqual([]);
  });

  test('has every code once', () => {
    const codes = errorChapters.flatMap(({ catalogue }) => Object.keys(catalogue.definitions));
    expect(codes.filter((code, index) => codes.indexOf(code) !== index)).toEqual([]);
  });

  test('has stable, readable codes, and a title and a next step for each', () => {
    for (const [code, definition] of errorChapters.flatMap(({ catalogue }) =>
      Object.entries(catalogue.definitions),
    )) {
      expect(code).toMatch(/^[a-z][a-z0-9_]+$/);
      expect(definition.status).toBeGreaterThanOrEqual(400);
      expect(definition.title.length, code).toBeGreaterThan(5);
      expect(definition.next, code).toMatch(/\.$/);
    }
  });
});
