import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { itemStatuses } from '../../../src/ingest/items/types.ts';
import {
  documentStates,
  generationStates,
  runStatuses as indexingStatuses,
} from '../../../src/ingest/knowledge/types.ts';
import { handoffStatuses, runStatuses as scrapeStatuses } from '../../../src/ingest/scrapes/types.ts';
import { uploadStatuses } from '../../../src/ingest/uploads/types.ts';
import { jobStatuses } from '../../../src/kernel/jobs/types.ts';
import { findStatusLook, type StatusHouse, statusLook, tones } from './status.ts';

const ofServer: Record<string, readonly string[]> = {
  jobs: jobStatuses,
  items: itemStatuses,
  uploads: uploadStatuses,
  indexing: indexingStatuses,
  documents: documentStates,
  generations: generationStates,
  scrapes: scrapeStatuses,
  handoffs: handoffStatuses,
};

test.each(Object.entries(ofServer))('every state of %s has a colour, an icon and a word', (_house, words) => {
  expect(words.filter((word) => findStatusLook(word) === null)).toEqual([]);
});

test('every state that the API can return has a colour, an icon and a word', () => {
  const document = JSON.parse(readFileSync(new URL('../../../openapi.json', import.meta.url), 'utf8'));
  const found = [...enumsNamed(document, /^(status|state|queueState|validation_status)$/)];
  expect(found.length).toBeGreaterThan(20);
  // Of the circuit breaker, which has words of its own, of the checks of /health/ready, and of the demo, which is
  // offered or not.
  const elsewhere = ['closed', 'open', 'probing', 'ok', 'absent', 'present', 'name_taken'];
  expect(found.filter((word) => findStatusLook(word) === null && !elsewhere.includes(word))).toEqual([]);
  expect(['closed', 'open', 'probing'].filter((word) => findStatusLook(word, 'circuit') === null)).toEqual(
    [],
  );
});

test('a failed job waits for its retry, and a failed upload has failed', () => {
  expect(statusLook('failed', 'job')).toMatchObject({ tone: 'retry', word: 'waiting for retry' });
  expect(statusLook('failed', 'sync')).toMatchObject({ tone: 'retry' });
  expect(statusLook('failed')).toMatchObject({ tone: 'failed', word: 'failed' });
});

test('one icon belongs to one colour', () => {
  const houses: (StatusHouse | undefined)[] = [undefined, 'job'];
  const looks = houses.flatMap((house) =>
    Object.values(ofServer)
      .flat()
      .map((word) => statusLook(word, house)),
  );
  const tonesOfIcon = new Map<string, Set<string>>();
  for (const { icon, tone } of looks) tonesOfIcon.set(icon, (tonesOfIcon.get(icon) ?? new Set()).add(tone));
  expect([...tonesOfIcon.values()].every((set) => set.size === 1)).toBe(true);
  expect(new Set(looks.map(({ tone }) => tone)).size).toBeLessThanOrEqual(tones.length);
});

test('states are read in upper and lower case, and an unknown one is shown as it is', () => {
  expect(statusLook('NOT_FOUND').word).toBe('not found');
  expect(statusLook('half_way')).toMatchObject({ tone: 'queued', word: 'half way' });
});

function enumsNamed(node: unknown, name: RegExp, found = new Set<string>()): Set<string> {
  if (Array.isArray(node)) for (const child of node) enumsNamed(child, name, found);
  if (typeof node !== 'object' || node === null) return found;
  for (const [key, child] of Object.entries(node)) {
    if (name.test(key)) for (const word of enumOf(child)) found.add(word);
    enumsNamed(child, name, found);
  }
  return found;
}

function enumOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  if ('enum' in schema && Array.isArray(schema.enum))
    return schema.enum.filter((word) => typeof word === 'string');
  return 'anyOf' in schema && Array.isArray(schema.anyOf) ? schema.anyOf.flatMap(enumOf) : [];
}
