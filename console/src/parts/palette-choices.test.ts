import { expect, test } from 'vitest';
import { choicesFor } from './palette-choices.ts';
import { places } from './places.ts';

test('a pasted id offers what the server found, then its events', () => {
  const id = '01a1e3be-3044-76e9-9e9d-5bd2091c8758';
  const found = [{ kind: 'upload', id, name: 'march.csv', url: `/uploads/${id}` }];
  expect(choicesFor(id, { rights: [], found })).toEqual([
    { label: 'march.csv', href: `/uploads/${id}`, icon: 'upload', hint: 'upload' },
    { label: 'Events about it', href: `/events?subject=${id}`, icon: 'activity' },
  ]);
});

test('actions are offered by their words, beside pages', () => {
  const act = () => {};
  const actions = [{ label: 'Switch to dark', href: null, icon: 'moon' as const, act }];
  expect(choicesFor('dark', { rights: [], actions })).toEqual(actions);
  expect(choicesFor('zebra', { rights: [], actions })).toEqual([]);
});

test('an event type leads to its events', () => {
  expect(choicesFor('job.*', { rights: [] }).map(({ href }) => href)).toEqual(['/events?type=job.*']);
});

test('actions that the role may not do are not offered', () => {
  const hrefs = (rights: string[]) => choicesFor('dead', { rights }).map(({ href }) => href);
  expect(hrefs([])).toEqual([]);
  expect(hrefs(['dead_letter.read'])).toEqual(['/dead-letters']);
  expect(choicesFor('new knowledge', { rights: ['knowledge.manage'] }).map(({ href }) => href)).toEqual([
    '/knowledge/new',
  ]);
});

test('no two places share a key', () => {
  const keys = places.map(({ key }) => key).filter((key) => key !== null);
  expect(new Set(keys).size).toBe(keys.length);
});
