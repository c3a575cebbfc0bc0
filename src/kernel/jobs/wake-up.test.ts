import { expect, test } from 'vitest';
import type { Database } from '../../lib/postgres/db.ts';
import { WakeUp } from './wake-up.ts';

/** Processes that hear each other at once, as over NOTIFY: everybody hears everything, also the sender. */
function fleetOf(count: number) {
  const wakes: WakeUp[] = [];
  const db = {
    notify: async (_channel: string, payloads: string[]) => {
      for (const payload of payloads) for (const wake of wakes) wake.receive(payload);
    },
  } as unknown as Database;
  const woken = Array.from({ length: count }, (_, rank) => {
    const wake = new WakeUp(db);
    wake.setPlace({ rank, count });
    wakes.push(wake);
    const seen = { jobs: 0, events: 0 };
    wake.on('jobs', () => (seen.jobs += 1));
    wake.on('events', () => (seen.events += 1));
    return seen;
  });
  return { wakes, woken };
}

test('a process hears of its own job once, although its own word comes back', async () => {
  const { wakes, woken } = fleetOf(1);
  wakes[0]?.announce('jobs');
  await new Promise((resolve) => setImmediate(resolve));
  expect(woken[0]?.jobs).toBe(1);
});

test('word of a job wakes one process besides the sender at most, word of an event all', async () => {
  const { wakes, woken } = fleetOf(50);
  wakes[7]?.announce('jobs', 'events');
  await new Promise((resolve) => setImmediate(resolve));
  expect(woken[7]?.jobs).toBe(1);
  expect(woken.reduce((sum, { jobs }) => sum + jobs, 0)).toBeLessThanOrEqual(2);
  expect(woken.every(({ events }) => events > 0)).toBe(true);
});

test('a process that has no room passes the word on, a few times at most', async () => {
  const { wakes, woken } = fleetOf(50);
  for (const wake of wakes) wake.on('jobs', () => wake.passOn());
  wakes[0]?.announce('jobs');
  await new Promise((resolve) => setTimeout(resolve, 20));
  const heard = woken.reduce((sum, { jobs }) => sum + jobs, 0);
  expect(heard).toBeGreaterThan(1);
  // The sender, and two chains: one of its announcement, one because it has no room itself.
  expect(heard).toBeLessThanOrEqual(1 + 4 + 3);
});
