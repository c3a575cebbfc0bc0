import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { tryStartLock } from './start-lock.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'start-lock-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const attempts = async (count: number) => {
  const found = await Promise.all(Array.from({ length: count }, () => tryStartLock(directory)));
  return found.flatMap(({ lock }) => (lock ? [lock] : []));
};

test('exactly one of many simultaneous callers gets the lock, again after each release', async () => {
  for (let round = 0; round < 20; round += 1) {
    const held = await attempts(20);
    // None is possible: the winner of a number may find that it was slow. Two never are.
    expect(held.length).toBeLessThanOrEqual(1);
    if (held.length > 0) expect(await attempts(5)).toEqual([]);
    await held[0]?.release();
  }
  const last = await attempts(1);
  expect(last).toHaveLength(1);
  expect(readdirSync(directory)).toHaveLength(1);
});

test('a held lock names the process that holds it', async () => {
  await tryStartLock(directory);
  expect(await tryStartLock(directory)).toEqual({ lock: null, heldBy: process.pid });
});

test('the lock of a dead process can be taken by one of many', async () => {
  const dead = spawnSync('true').pid;
  writeFileSync(join(directory, 'postgres.lock.41'), `${dead}\nwhatever/1`);
  expect(await attempts(20)).toHaveLength(1);
  expect(readdirSync(directory)).toEqual(['postgres.lock.42']);
});

test('the lock of a dead process whose pid belongs to another one by now can be taken', async () => {
  writeFileSync(join(directory, 'postgres.lock.1'), `${process.pid}\nanother-boot/1`);
  expect(await attempts(1)).toHaveLength(1);
});
