import { expect, test } from 'vitest';
import { Eta } from './eta.ts';

const total = 10_000;

function fed(counts: (second: number) => number, seconds: number): { eta: Eta; ends: (number | null)[] } {
  const eta = new Eta();
  const ends = [];
  for (let second = 0; second <= seconds; second += 1) {
    eta.add(counts(second), { total, atMs: second * 1_000 });
    ends.push(eta.endsAtMs);
  }
  return { eta, ends };
}

test('a steady rate gives a steady end time, but not in the first seconds', () => {
  const { eta, ends } = fed((second) => second * 100, 20);
  expect(ends.slice(0, 8)).toEqual(Array(8).fill(null));
  expect(eta.perSecond).toBeCloseTo(100);
  expect(eta.endsAtMs).toBeCloseTo(100_000);
});

test('an unsteady rate gives no end time', () => {
  const { ends } = fed((second) => (second < 10 ? second : second ** 3), 14);
  expect(ends.slice(10)).toEqual(Array(5).fill(null));
});

test('a job without progress has no end time', () => {
  const { eta } = fed(() => 500, 30);
  expect(eta.perSecond).toBe(0);
  expect(eta.endsAtMs).toBeNull();
});

test('reprocessed rows start a new estimate', () => {
  const { eta } = fed((second) => second * 100, 20);
  eta.add(0, { total, atMs: 21_000 });
  expect(eta.perSecond).toBeNull();
  expect(eta.endsAtMs).toBeNull();
});

test('without a total there is a rate but no end time', () => {
  const eta = new Eta();
  for (let second = 0; second <= 20; second += 1) eta.add(second * 5, { total: null, atMs: second * 1_000 });
  expect(eta.perSecond).toBeCloseTo(5);
  expect(eta.endsAtMs).toBeNull();
});
