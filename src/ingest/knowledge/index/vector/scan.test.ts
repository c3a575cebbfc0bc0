import { expect, test } from 'vitest';
import { seededRandom } from '../../../../../test/chaos/seeded-random.ts';
import { randomDirection } from '../../../../../test/support/probes/vector-spaces.ts';
import { createTurns, dotProduct, scanSegment } from './scan.ts';
import { compareSegments, rowsPerSegment, SegmentWriter, sizeOf } from './segments.ts';
import { TopHits } from './top-hits.ts';
import { readVector, vectorBytes } from './vector-bytes.ts';

const random = seededRandom(17);
const noTurn = async (): Promise<void> => {};

test.each([1, 3, 4, 5, 16, 511])('the product of two vectors of %i dimensions is right', (dimensions) => {
  const [a, b] = [randomDirection(random, dimensions), randomDirection(random, dimensions)];
  const expected = a.reduce((sum, value, place) => sum + value * (b[place] ?? 0), 0);
  const shifted = Float32Array.from([9, 9, 9, ...a]);
  expect(dotProduct(shifted, 3, b)).toBeCloseTo(expected, 6);
});

test('the best hits are those that sorting all of them would give', () => {
  for (let round = 0; round < 200; round += 1) {
    const limit = 1 + random.below(12);
    const offers = Array.from({ length: random.below(60) }, (_, place) => ({
      chunkId: place,
      score: random.below(8) / 8,
    }));
    const best = new TopHits(limit);
    for (const { chunkId, score } of random.shuffle(offers)) {
      if (score >= best.threshold) best.offer(chunkId, score);
    }
    const sorted = offers.toSorted((a, b) => b.score - a.score || a.chunkId - b.chunkId).slice(0, limit);
    expect(best.sorted()).toEqual(sorted);
  }
});

test('a score that is not a number is no hit, and one outside the range of a cosine is clamped', () => {
  const best = new TopHits(3);
  best.offer(1, Number.NaN);
  best.offer(2, 1.000_000_1);
  best.offer(3, -1.000_000_1);
  expect(best.sorted()).toEqual([
    { chunkId: 2, score: 1 },
    { chunkId: 3, score: -1 },
  ]);
});

test('a scan yields to the event loop after five milliseconds, and stops when it is aborted', async () => {
  let clock = 0;
  const controller = new AbortController();
  const takeTurn = createTurns(controller.signal, () => clock);
  let turns = 0;
  const turnsOf = async (elapsedMs: number): Promise<number> => {
    clock += elapsedMs;
    turns = 0;
    const other = setImmediate(() => {
      turns += 1;
    });
    await takeTurn();
    clearImmediate(other);
    return turns;
  };
  expect(await turnsOf(4)).toBe(0);
  expect(await turnsOf(2)).toBe(1);
  expect(await turnsOf(4)).toBe(0);
  controller.abort(new Error('gone home'));
  await expect(takeTurn()).rejects.toThrow('gone home');
});

test('bytes and vectors convert into each other, whatever the alignment of the bytes', () => {
  const vector = randomDirection(random, 37);
  const bytes = vectorBytes(vector);
  expect(bytes.readFloatLE(4)).toBe(vector[1]);
  const shifted = Buffer.concat([Buffer.from([1]), bytes]).subarray(1);
  expect(readVector(shifted)).toEqual(vector);
});

test('full segments whose chunks all exist are kept, the others are rebuilt', async () => {
  const dimensions = 8_192;
  const perSegment = rowsPerSegment(dimensions);
  const count = 3 * perSegment + 5;
  const vectors = Array.from({ length: count }, () => randomDirection(random, dimensions));
  const writer = new SegmentWriter(dimensions, count);
  vectors.forEach((vector, place) => {
    writer.push(place + 1, vectorBytes(vector));
  });
  const segments = writer.finish();
  expect(segments.map(({ ids }) => ids.length)).toEqual([perSegment, perSegment, perSegment, 5]);
  expect(sizeOf(segments)).toBe(count * (dimensions * 4 + 8));

  const wanted = new Set([...Array(count).keys()].map((place) => place + 1));
  wanted.delete(perSegment + 1);
  wanted.add(1_000);
  const { kept, loose, missing } = await compareSegments(segments, wanted, { dimensions, takeTurn: noTurn });
  expect(kept).toEqual([segments[0], segments[2]]);
  expect(loose).toHaveLength(perSegment - 1 + 5);
  expect(missing).toEqual([1_000]);

  const rest = new SegmentWriter(dimensions, loose.length);
  for (const { segment, row } of loose) rest.copy(segment, row);
  const best = new TopHits(1);
  for (const segment of [...kept, ...rest.finish()])
    scanSegment(segment, vectors.at(-1) as Float32Array, best);
  expect(best.sorted()).toEqual([{ chunkId: count, score: expect.closeTo(1, 5) }]);
});

test('room for chunks that never came is given back', () => {
  const writer = new SegmentWriter(2, 100);
  writer.push(7, vectorBytes(Float32Array.of(1, 0)));
  const segments = writer.finish();
  expect(sizeOf(segments)).toBe(16);
  expect([...(segments[0]?.ids ?? [])]).toEqual([7]);
});
