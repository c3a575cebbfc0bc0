import { expect, test } from 'vitest';
import { firstIdAt, newId } from './ids.ts';

test('ids of one millisecond sort in the order in which they were made', () => {
  const nowMs = Date.UTC(2026, 0, 1);
  const ids = Array.from({ length: 3_000 }, () => newId(nowMs));
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
});

test('every id is a UUID of version 7 and at least the first one of its moment', () => {
  const nowMs = Date.now();
  for (let n = 0; n < 5_000; n += 1) {
    const id = newId(nowMs);
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(id >= firstIdAt(nowMs)).toBe(true);
    expect(id < firstIdAt(nowMs + 1)).toBe(true);
  }
});
