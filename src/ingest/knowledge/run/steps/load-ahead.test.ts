import { expect, test } from 'vitest';
import { Gate } from '../gate.ts';
import { LoadAhead, mapInOrder } from './load-ahead.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await turn();
}

function counted(count: number, made: number[]): AsyncGenerator<number> {
  return (async function* () {
    for (let n = 1; n <= count; n += 1) {
      made.push(n);
      yield n;
    }
  })();
}

const open = { isClosed: () => false, whenClosed: new Promise<void>(() => {}) };

test('items are made ahead, but no more than asked for', async () => {
  const made: number[] = [];
  const ahead = new LoadAhead(counted(10, made), { depth: 3 });
  await ahead.ready();
  await turns(5);
  expect(made).toEqual([1, 2, 3]);
  expect(ahead.take()).toBe(1);
  await turns(5);
  expect(made).toEqual([1, 2, 3, 4]);
});

test('a consumer that stops at a gate loses nothing: the next one continues after the last item taken', async () => {
  const ahead = new LoadAhead(counted(5, []), { depth: 2 });
  const first: number[] = [];
  let isClosed = false;
  const gate = { isClosed: () => isClosed, whenClosed: new Promise<void>(() => {}) };
  for await (const n of ahead.until(gate)) {
    first.push(n);
    if (n === 2) isClosed = true;
  }
  expect(ahead.isOver()).toBe(false);
  const second: number[] = [];
  for await (const n of ahead.until(open)) second.push(n);
  expect([first, second]).toEqual([
    [1, 2],
    [3, 4, 5],
  ]);
  expect(ahead.isOver()).toBe(true);
});

test('a gate that closes ends the wait for an item that does not come', async () => {
  const ahead = new LoadAhead(
    (async function* () {
      await new Promise(() => {});
      yield 1;
    })(),
    { depth: 2 },
  );
  let isYielding = false;
  const slice = { shouldYield: () => isYielding, signal: new AbortController().signal };
  const gate = new Gate(slice, { sliceMs: 60_000 });
  const taken: number[] = [];
  const waiting = (async () => {
    for await (const n of ahead.until(gate)) taken.push(n);
  })();
  await turns(3);
  isYielding = true;
  await waiting;
  expect(taken).toEqual([]);
  expect(ahead.isOver()).toBe(false);
});

test('an error comes after the items that were made before it', async () => {
  const ahead = new LoadAhead(
    (async function* () {
      yield 1;
      yield 2;
      throw new Error('The source broke');
    })(),
    { depth: 5 },
  );
  const taken: number[] = [];
  await expect(
    (async () => {
      for await (const n of ahead.until(open)) taken.push(n);
    })(),
  ).rejects.toThrow('The source broke');
  expect(taken).toEqual([1, 2]);
});

test('results come in the order of the items, whoever is done first, and only so many are at work', async () => {
  let atWork = 0;
  let most = 0;
  const results = mapInOrder(counted(9, []), 3, async (n) => {
    atWork += 1;
    most = Math.max(most, atWork);
    await turns(n % 3 === 1 ? 20 : 1);
    atWork -= 1;
    return n * 10;
  });
  const got: number[] = [];
  for await (const result of results) got.push(result);
  expect(got).toEqual([10, 20, 30, 40, 50, 60, 70, 80, 90]);
  expect(most).toBe(3);
});

test('if an item fails, those before it are yielded and none after it', async () => {
  const got: number[] = [];
  await expect(
    (async () => {
      const results = mapInOrder(counted(9, []), 4, async (n) => {
        await turns(10 - n);
        if (n === 3) throw new Error('Three');
        return n;
      });
      for await (const result of results) got.push(result);
    })(),
  ).rejects.toThrow('Three');
  expect(got).toEqual([1, 2]);
});

test('the time of a slice counts from its first commit', async () => {
  const slice = { shouldYield: () => false, signal: new AbortController().signal };
  const gate = new Gate(slice, { sliceMs: 0 });
  expect(gate.isClosed()).toBe(false);
  gate.noteCommit();
  expect(gate.isClosed()).toBe(true);
  await gate.whenClosed;
});
