import { expect, test } from 'vitest';
import { NativeWork } from './native-work.ts';

test('a closed guard refuses work, and waits for running work no longer than its limit', async () => {
  const work = new NativeWork();
  let finish = () => {};
  const inside = work.run(() => new Promise<void>((resolve) => (finish = resolve)));
  expect(work.closeAndWait(5)).toBe(false);
  await expect(work.run(async () => 'done')).rejects.toThrow('ending');
  finish();
  await inside;
  expect(work.closeAndWait(5)).toBe(true);
});

test('a guard is free again after failed work', async () => {
  const work = new NativeWork();
  await expect(work.run(() => Promise.reject(new Error('bad')))).rejects.toThrow('bad');
  expect(await work.run(async () => 'done')).toBe('done');
  expect(new NativeWork(work.buffer).closeAndWait(0)).toBe(true);
});
