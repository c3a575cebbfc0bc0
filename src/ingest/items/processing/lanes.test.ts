import { expect, test } from 'vitest';
import { Lanes } from './lanes.ts';

test('a job runs as many turns at once as there are lanes, and other jobs do not wait for it', async () => {
  const lanes = new Lanes({ width: 2 });
  const first = await lanes.enter('a', 0);
  expect(first).not.toBeNull();
  expect(await lanes.enter('a', 0)).not.toBeNull();
  expect(await lanes.enter('a', 0)).toBeNull();
  expect(await lanes.enter('b', 0)).not.toBeNull();
  const waiting = lanes.enter('a', 60_000);
  first?.();
  expect(await waiting).not.toBeNull();
});

test('a turn that stopped waiting takes no lane from one that still waits', async () => {
  const lanes = new Lanes({ width: 1 });
  const leave = await lanes.enter('a', 0);
  const [gaveUp, waiting] = [lanes.enter('a', 1), lanes.enter('a', 60_000)];
  expect(await gaveUp).toBeNull();
  leave?.();
  const second = await waiting;
  expect(second).not.toBeNull();
  expect(await lanes.enter('a', 0)).toBeNull();
  second?.();
  expect(await lanes.enter('a', 0)).not.toBeNull();
});
