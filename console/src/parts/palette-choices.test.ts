import { expect, test } from 'vitest';
import { choicesFor } from './palette-choices.ts';
import { places } from './places.ts';

test('a pasted id offers the pages that can show it', () => {
  const id = '01a1e3be-3044-76e9-9e9d-5bd2091c8758';
  expect(choicesFor(id, []).map(({ href }) => href)).toEqual([
    `/jobs/${id}`,
    `/uploads/${id}`,
    `/events?subject=${id}`,
  ]);
});

test('an event type leads to its events', () => {
  expect(choicesFor('job.*', []).map(({ href }) => href)).toEqual(['/events?type=job.*']);
});

test('actions that the role may not do are not offered', () => {
  const hrefs = (rights: string[]) => choicesFor('dead', rights).map(({ href }) => href);
  expect(hrefs([])).toEqual([]);
  expect(hrefs(['dead_letter.read'])).toEqual(['/dead-letters']);
  expect(choicesFor('new knowledge', ['knowledge.manage']).map(({ href }) => href)).toEqual([
    '/knowledge/new',
  ]);
});

test('no two places share a key', () => {
  const keys = places.map(({ key }) => key).filter((key) => key !== null);
  expect(new Set(keys).size).toBe(keys.length);
});
