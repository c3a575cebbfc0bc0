import { expect, test } from 'vitest';
import { createTurns } from './event-loop-turns.ts';

/** Every look at this clock finds the task too busy to go on without a turn. */
function busyClock(): () => number {
  let ms = 0;
  return () => {
    ms += 10;
    return ms;
  };
}

test('a small task does not wait for a turn of every large one', async () => {
  const order: string[] = [];
  const work = async (name: string, turns: number) => {
    const takeTurn = createTurns(busyClock());
    for (let n = 0; n < turns; n += 1) {
      await takeTurn();
      order.push(name);
    }
  };
  const large = Array.from({ length: 8 }, (_, n) => work(`large-${n}`, 20));
  while (order.length < 40) await new Promise((resolve) => setImmediate(resolve));
  const before = order.length;
  await work('small', 3);
  const waited = order.slice(before).filter((name) => name !== 'small').length;
  // Two turns of others before each of its own, at most.
  expect(waited).toBeLessThanOrEqual(6);
  await Promise.all(large);
});

test('a large task is not starved by small ones that keep coming', async () => {
  let isDone = false;
  const large = (async () => {
    const takeTurn = createTurns(busyClock());
    for (let n = 0; n < 10; n += 1) await takeTurn();
    isDone = true;
  })();
  let small = 0;
  const send = async () => {
    while (!isDone) {
      await createTurns(busyClock())();
      small += 1;
    }
  };
  await Promise.all([large, send(), send(), send()]);
  // Every other turn is the longest waiting one's: with three senders that is its own in at most every eighth turn.
  expect(small).toBeLessThan(10 * 8);
});

test('one task goes on in each round of the event loop', async () => {
  let inRound = 0;
  const most: number[] = [];
  const work = async () => {
    const takeTurn = createTurns(busyClock());
    for (let n = 0; n < 10; n += 1) {
      await takeTurn();
      inRound += 1;
    }
  };
  const tasks = Promise.all(Array.from({ length: 5 }, work));
  for (let round = 0; round < 60; round += 1) {
    inRound = 0;
    await new Promise((resolve) => setImmediate(resolve));
    most.push(inRound);
  }
  await tasks;
  expect(Math.max(...most)).toBeLessThanOrEqual(2);
});
