import { expect, test } from 'vitest';
import type { Chunk } from '../../chunkers/chunker.ts';
import { InFlight } from './in-flight.ts';

const space = { tenantId: 't', kbId: 'kb', generation: 1 };

function chunk(contentHash: string): Chunk {
  return { text: contentHash, contentHash, headingPath: [], start: 0, end: 1, tokens: 1 };
}

test('a second run gets the vector of the first, even before it is committed', async () => {
  const inFlight = new InFlight();
  const first = inFlight.reserve(space, [chunk('a'), chunk('b')]);
  expect(first.others.size).toBe(0);
  const second = inFlight.reserve(space, [chunk('b'), chunk('c')]);
  expect([...second.others.keys()]).toEqual(['b']);
  first.tell('b', Float32Array.of(1));
  expect(await second.others.get('b')).toEqual(Float32Array.of(1));
  const third = inFlight.reserve(space, [chunk('b')]);
  expect(await third.others.get('b')).toEqual(Float32Array.of(1));
  for (const claim of [first, second, third]) claim.release();
  expect(inFlight.size).toBe(0);
});

test('a first run that fails leaves the text to the second', async () => {
  const inFlight = new InFlight();
  const first = inFlight.reserve(space, [chunk('a')]);
  const second = inFlight.reserve(space, [chunk('a')]);
  first.release();
  expect(await second.others.get('a')).toBeNull();
  expect(inFlight.reserve(space, [chunk('a')]).others.size).toBe(0);
});

test('knowledge bases, generations and tenants do not meet', () => {
  const inFlight = new InFlight();
  inFlight.reserve(space, [chunk('a')]);
  for (const other of [{ tenantId: 'u' }, { kbId: 'other' }, { generation: 2 }]) {
    expect(inFlight.reserve({ ...space, ...other }, [chunk('a')]).others.size).toBe(0);
  }
});
