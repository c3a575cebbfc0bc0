import { expect, test } from 'vitest';
import { Lanes } from './lanes.ts';

test('a job runs as many turns at once as there are lanes, and other jobs do not wait for it', async () => {
  const lanes = new Lanes({ width: 2 });
  const first = await lanes.enter('a', 0);
  first?.share(true);
  const second = await lanes.enter('a', 0);
  second?.share(true);
  expect(second).not.toBeNull();
  expect(await lanes.enter('a', 0)).toBeNull();
  expect(await lanes.enter('b', 0)).not.toBeNull();
  const waiting = lanes.enter('a', 60_000);
  first?.leave();
  expect(await waiting).not.toBeNull();
});

test('a turn that stopped waiting takes no lane from one that still waits', async () => {
  const lanes = new Lanes({ width: 1 });
  const first = await lanes.enter('a', 0);
  first?.share(true);
  const [gaveUp, waiting] = [lanes.enter('a', 1), lanes.enter('a', 60_000)];
  expect(await gaveUp).toBeNull();
  first?.leave();
  const second = await waiting;
  expect(second).not.toBeNull();
  expect(await lanes.enter('a', 0)).toBeNull();
  second?.leave();
  expect(await lanes.enter('a', 0)).not.toBeNull();
});

test('further turns wait for the first claim, and begin when it was full', async () => {
  const lanes = new Lanes({ width: 2 });
  const first = await lanes.enter('a', 0);
  expect(await lanes.enter('a', 0)).toBeNull();
  const waiting = lanes.enter('a', 60_000);
  first?.share(true);
  expect(await waiting).not.toBeNull();
});

test('turns that wait end with the turn that left nothing to do, and the next one begins', async () => {
  const lanes = new Lanes({ width: 2 });
  const first = await lanes.enter('a', 0);
  const waiting = [lanes.enter('a', 60_000), lanes.enter('a', 60_000)];
  first?.share(false);
  first?.leave();
  expect(await Promise.all(waiting)).toEqual([null, null]);
  expect(await lanes.enter('a', 0)).not.toBeNull();
});
